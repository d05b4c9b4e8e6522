#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <plumb/context/settings.h>
#include <plumb/core/error.h>
#include <plumb/core/version.h>
#include <plumb/mpi/channel.h>

#include "cli/commands.h"
#include "cli/errors.h"
#include "cli/launcher.h"

namespace plumb::cli {

namespace {

constexpr double kDefaultTimeout = 120;

constexpr const char* kFooter =
    "Exit codes: 0 all good, 1 something failed or nothing ran, 2 wrong usage, unreadable input or an\n"
    "environment that cannot do it. Run it under mpirun; rank 0 prints.\n\n"
    "Environment: PLUMB_TIMEOUT bounds every wait for another rank, in seconds (120 if it is not set);\n"
    "PLUMB_CHECK=off|local|agree, PLUMB_TRANSPORT=auto|mpi, PLUMB_CP_HALO_IMPL=p2p|collective, PLUMB_LOG.";

/// Under a launcher, processes that end with an error without ever starting MPI get each other killed, at
/// times before rank 0 has printed: so MPI is started and finalised first.
int refuse(int argc, char** argv, const std::string& message) {
    const Launch launch = launch_from_environment();
    if (launch.rank == 0) std::cerr << message << std::flush;
    if (launch.size > 1 && mpi::mpi_state() == mpi::MpiState::not_initialised)
        mpi::Environment environment(argc, argv);
    return kCannotRun;
}

std::string said(const std::exception& error) {
    return fmt::format("plumb: {}\n", error.what());
}

/// Everything under MPI. What one rank alone throws ends the whole job: the others may be waiting for it.
int run_under_mpi(int argc, char** argv, const std::function<int(Job&)>& command) {
    static_cast<void>(
        Settings::from_environment());  // before MPI starts, so that a wrong value costs nothing
    if (!mpi::default_timeout()) mpi::set_default_timeout(mpi::Seconds(kDefaultTimeout));
    Job job(argc, argv);
    try {
        return command(job);
    } catch (const CannotRun& error) {
        if (job.leads()) std::cerr << said(error) << std::flush;
        return kCannotRun;
    } catch (const std::exception& error) {
        std::cerr << fmt::format("plumb: rank {}: uncaught error: {}\n", job.rank(), error.what())
                  << std::flush;
        Job::abort();
    }
}

int run(int argc, char** argv) {
    CLI::App app{"Plumb: the MPI ground truth for sequence- and context-parallel communication.", "plumb"};
    app.set_version_flag("--version", fmt::format("plumb {}", kVersion));
    app.require_subcommand(1);
    app.footer(kFooter);
    InfoOptions info_options;
    ReplayOptions replay_options;
    VerifyOptions verify_options;
    const CLI::App* info_command = add_info(app, info_options);
    const CLI::App* replay_command = add_replay(app, replay_options);
    add_verify(app, verify_options);

    const Launch launch = launch_from_environment();
    if (argc > 1 && argv[1][0] != '-' &&
        std::as_const(app)
            .get_subcommands([&](const CLI::App* command) { return command->get_name() == argv[1]; })
            .empty())
        return refuse(
            argc, argv,
            fmt::format("plumb: there is no command '{}', allowed are info, replay, verify\n", argv[1]));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::ostringstream out;
        std::ostringstream err;
        if (app.exit(error, out, err) != 0) return refuse(argc, argv, "plumb: " + err.str());
        if (launch.rank == 0) std::cout << out.str() << std::flush;
        return kAllGood;
    }
    const bool is_replay = replay_command->parsed();
    try {
        if (info_command->parsed())
            return run_under_mpi(argc, argv, [&](Job& job) { return info(job, info_options); });
        if (is_replay ? replay_options.list : verify_options.list) {
            const std::string names =
                is_replay ? list_replay(replay_options) : list_verify(verify_options, launch.size);
            if (launch.rank == 0) std::cout << names << std::flush;
            return kAllGood;
        }
        apply(is_replay ? replay_options.transport : verify_options.transport);
        return run_under_mpi(argc, argv, [&](Job& job) {
            return is_replay ? replay(job, replay_options) : verify(job, verify_options);
        });
    } catch (const std::exception& error) {  // before MPI was started, on every rank alike
        return refuse(argc, argv, said(error));
    }
}

}  // namespace

}  // namespace plumb::cli

int main(int argc, char** argv) {
    return plumb::cli::run(argc, argv);
}
