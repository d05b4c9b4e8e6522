#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace plumb::cli {

/// What every command takes.
struct CommonOptions {
    std::string json;
    std::string junit;
    std::vector<std::string> filters;
    bool verbose = false;
};
void add_common_options(CLI::App& command, CommonOptions& options);

/// Where tensors live and how they travel, for the commands that move any.
struct TransportOptions {
    std::string memory = "host";
    std::string transport = "auto";
    std::string device_transport = "auto";
};
void add_transport_options(CLI::App& command, TransportOptions& options);
/// Throws CannotRun for a choice that this build or machine does not have; puts the others into effect.
/// Local; called before any context is made.
void apply(const TransportOptions& options);

/// Whether `name` matches one of the shell patterns (`*`, `?`, `[…]`), or there is none.
[[nodiscard]] bool matches(const std::vector<std::string>& patterns, const std::string& name);

struct InfoOptions {
    CommonOptions common;
    std::string mesh;
};
struct ReplayOptions {
    CommonOptions common;
    TransportOptions transport;
    std::vector<std::string> folders;
    bool list = false;
};
struct VerifyOptions {
    CommonOptions common;
    TransportOptions transport;
    std::string mesh;
    std::uint64_t seed = 1;
    std::int64_t cases = 0;  ///< 0: all
    std::vector<std::string> dtypes;
    std::vector<std::string> ops;
    bool list = false;
};

CLI::App* add_info(CLI::App& app, InfoOptions& options);
CLI::App* add_replay(CLI::App& app, ReplayOptions& options);
CLI::App* add_verify(CLI::App& app, VerifyOptions& options);

}  // namespace plumb::cli
