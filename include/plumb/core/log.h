#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// How much the process-wide log says: a message is written if its level is at most the log's.
enum class LogLevel : std::uint8_t { off, error, warning, info, debug };

[[nodiscard]] std::string_view name(LogLevel level);
/// "off", "error", "warning", "info", "debug". Throws ArgumentError that lists what is allowed.
[[nodiscard]] LogLevel log_level_from_name(std::string_view text);

/// The level in force: what was set last, else the environment's PLUMB_LOG, else `warning`. Local; safe from
/// any thread, as are all functions of this header. A PLUMB_LOG that names no level counts as unset, and is
/// said so once.
[[nodiscard]] LogLevel log_level();
void set_log_level(LogLevel level);
/// Reads PLUMB_LOG again (unset: `warning`). Throws EnvironmentError for a value that names no level, and
/// then changes nothing.
void set_log_level_from_environment();

/// Stands in every line from now on, such as "rank 3"; empty at first.
void set_log_prefix(std::string prefix);

[[nodiscard]] inline bool logs(LogLevel level) {
    return level != LogLevel::off && level <= log_level();
}

/// Writes one line to stderr, "plumb [prefix] level: message", in one piece. Never throws for a failing
/// stderr.
void log(LogLevel level, std::string_view message);

inline void log_error(std::string_view message) {
    log(LogLevel::error, message);
}
inline void log_warning(std::string_view message) {
    log(LogLevel::warning, message);
}
inline void log_info(std::string_view message) {
    log(LogLevel::info, message);
}
inline void log_debug(std::string_view message) {
    log(LogLevel::debug, message);
}

}  // namespace plumb
