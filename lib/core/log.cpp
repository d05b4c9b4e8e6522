#include <plumb/core/log.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include <plumb/core/error.h>

namespace plumb {

namespace {

constexpr LogLevel kLevels[] = {LogLevel::off, LogLevel::error, LogLevel::warning, LogLevel::info,
                                LogLevel::debug};
constexpr LogLevel kDefaultLevel = LogLevel::warning;

struct State {
    std::mutex mutex;
    std::optional<LogLevel> level;
    std::string prefix;
};

// Never destroyed: messages may come from other static objects' destructors.
State& state() {
    static State* const instance = new State;
    return *instance;
}

std::string level_names() {
    std::string names;
    for (const LogLevel level : kLevels)
        names += (names.empty() ? "" : ", ") + std::string(name(level));
    return names;
}

std::optional<LogLevel> find_level(std::string_view text) {
    for (const LogLevel level : kLevels)
        if (text == name(level)) return level;
    return std::nullopt;
}

std::string not_a_level(std::string_view what, std::string_view text) {
    return std::string(what) + ": '" + std::string(text) + "' given; allowed: " + level_names();
}

void write_line(const State& state, LogLevel level, std::string_view message) {
    std::string line = "plumb ";
    if (!state.prefix.empty()) line += "[" + state.prefix + "] ";
    line += name(level);
    line += ": ";
    line += message;
    line += '\n';
    static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
    static_cast<void>(std::fflush(stderr));
}

// With the mutex held.
LogLevel current_level(State& state) {
    if (state.level) return *state.level;
    state.level = kDefaultLevel;
    if (const char* const text = std::getenv("PLUMB_LOG")) {
        if (const auto level = find_level(text))
            state.level = *level;
        else
            write_line(state, LogLevel::warning, not_a_level("PLUMB_LOG", text));
    }
    return *state.level;
}

}  // namespace

std::string_view name(LogLevel level) {
    switch (level) {
        case LogLevel::off:
            return "off";
        case LogLevel::error:
            return "error";
        case LogLevel::warning:
            return "warning";
        case LogLevel::info:
            return "info";
        case LogLevel::debug:
            return "debug";
    }
    return "?";
}

LogLevel log_level_from_name(std::string_view text) {
    if (const auto level = find_level(text)) return *level;
    throw ArgumentError(not_a_level("log level", text));
}

LogLevel log_level() {
    State& shared = state();
    const std::lock_guard lock(shared.mutex);
    return current_level(shared);
}

void set_log_level(LogLevel level) {
    State& shared = state();
    const std::lock_guard lock(shared.mutex);
    shared.level = level;
}

void set_log_level_from_environment() {
    LogLevel level = kDefaultLevel;
    if (const char* const text = std::getenv("PLUMB_LOG")) {
        const auto found = find_level(text);
        if (!found) throw EnvironmentError(not_a_level("PLUMB_LOG", text));
        level = *found;
    }
    set_log_level(level);
}

void set_log_prefix(std::string prefix) {
    State& shared = state();
    const std::lock_guard lock(shared.mutex);
    shared.prefix = std::move(prefix);
}

void log(LogLevel level, std::string_view message) {
    State& shared = state();
    const std::lock_guard lock(shared.mutex);
    if (level == LogLevel::off || level > current_level(shared)) return;
    write_line(shared, level, message);
}

}  // namespace plumb
