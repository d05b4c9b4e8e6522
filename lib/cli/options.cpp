#include "cli/options.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/errors.h"

namespace plumb::cli {

void add_common_options(CLI::App& command, CommonOptions& options) {
    command.add_option("--json", options.json, "Write the results to FILE as JSON")->type_name("FILE");
    command.add_option("--junit", options.junit, "Write the results to FILE as JUnit XML")->type_name("FILE");
    command.add_flag("-v,--verbose", options.verbose, "Say more: one line per case, every rank's findings");
    command
        .add_option("--filter", options.filters,
                    "Only the cases whose name matches the shell pattern; may be given several times")
        ->type_name("GLOB")
        ->allow_extra_args(false);
}

void add_transport_options(CLI::App& command, TransportOptions& options) {
    command.add_option("--memory", options.memory, "Where tensors live: host")
        ->check(CLI::IsMember({"host", "sim", "cuda"}))
        ->capture_default_str();
    command.add_option("--transport", options.transport, "How host memory travels: auto or mpi")
        ->check(CLI::IsMember({"auto", "mpi", "shm"}))
        ->capture_default_str();
    command.add_option("--device-transport", options.device_transport, "How device memory travels: auto")
        ->check(CLI::IsMember({"auto", "direct", "staged"}))
        ->capture_default_str();
}

void apply(const TransportOptions& options) {
    if (options.memory != "host")
        throw CannotRun(
            fmt::format("--memory {}: this build has no such memory, it has host", options.memory));
    if (options.transport == "shm")
        throw CannotRun("--transport shm: this build has no such transport, it has mpi");
    if (options.device_transport != "auto")
        throw CannotRun(
            fmt::format("--device-transport {}: this build has no device memory", options.device_transport));
    if (options.transport != "auto") ::setenv("PLUMB_TRANSPORT", options.transport.c_str(), 1);
}

bool matches(const std::vector<std::string>& patterns, const std::string& name) {
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
               return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
           });
}

CLI::App* add_info(CLI::App& app, InfoOptions& options) {
    CLI::App* command = app.add_subcommand("info", "What this Plumb, its MPI and the machine are");
    add_common_options(*command, options.common);
    command->add_option("--mesh", options.mesh, "Show where each rank stands, e.g. data=2,sequence=4")
        ->type_name("MESH");
    return command;
}

CLI::App* add_replay(CLI::App& app, ReplayOptions& options) {
    CLI::App* command = app.add_subcommand(
        "replay", "Run the recorded cases of this number of ranks, and compare with what was recorded");
    command->add_option("DIR", options.folders, "Folders with a manifest.json and .safetensors files")
        ->required();
    add_common_options(*command, options.common);
    auto* list = command->add_flag("--list", options.list, "Only name the cases: id, world, operation");
    list->excludes("--json")->excludes("--junit");
    add_transport_options(*command, options.transport);
    return command;
}

CLI::App* add_verify(CLI::App& app, VerifyOptions& options) {
    CLI::App* command = app.add_subcommand(
        "verify", "Compare every operation with a serial reference, and each pair with its adjoint");
    add_common_options(*command, options.common);
    auto* list = command->add_flag("--list", options.list, "Only name the cases");
    list->excludes("--json")->excludes("--junit");
    command
        ->add_option("--mesh", options.mesh,
                     "Mesh of all ranks (default: data=2,sequence=n/2 for even n above 2, else sequence=n)")
        ->type_name("MESH");
    command->add_option("--seed", options.seed, "What the inputs are drawn from")->capture_default_str();
    command->add_option("--cases", options.cases, "Run N cases, chosen by the seed (default: all)")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    command->add_option("--dtype", options.dtypes, "Only this element type; may be given several times")
        ->type_name("D")
        ->allow_extra_args(false);
    command->add_option("--op", options.ops, "Only this operation; may be given several times")
        ->type_name("OP")
        ->allow_extra_args(false);
    add_transport_options(*command, options.transport);
    return command;
}

}  // namespace plumb::cli
