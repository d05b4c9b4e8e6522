#include <plumb/context/settings.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>

namespace plumb {

namespace {

/// Every variable that all ranks must agree on, those of parts that are not built included: they mean the
/// same everywhere or nothing can be said about a run.
constexpr std::array kVariables = {"PLUMB_CHECK",      "PLUMB_TRANSPORT", "PLUMB_DEVICE_TRANSPORT",
                                   "PLUMB_CUDA_AWARE", "PLUMB_TIMEOUT",   "PLUMB_CP_HALO_IMPL",
                                   "PLUMB_SIM_MPI",    "PLUMB_SHM_ARENA"};

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string choice(const char* name, std::string fallback, std::initializer_list<std::string_view> allowed) {
    const std::string_view value = variable(name);
    if (value.empty()) {
        return fallback;
    }
    for (const auto word : allowed) {
        if (value == word) {
            return std::string(value);
        }
    }
    throw EnvironmentError(fmt::format("{} is '{}', allowed are {}", name, value, fmt::join(allowed, ", ")));
}

}  // namespace

Settings Settings::from_environment() {
    Settings settings;
    settings.check_level =
        mpi::check_level_from_name(choice("PLUMB_CHECK", "agree", {"off", "local", "agree"}));
    settings.transport = choice("PLUMB_TRANSPORT", "auto", {"auto", "mpi"});
    settings.halo_impl = choice("PLUMB_CP_HALO_IMPL", "p2p", {"p2p", "collective"});
    static_cast<void>(mpi::timeout_from_environment());  // validates PLUMB_TIMEOUT
    return settings;
}

void Settings::describe(mpi::Signature& signature) const {
    for (const auto* name : kVariables) {
        const std::string_view value = variable(name);
        signature.field(name, value.empty() ? "unset" : value);
    }
    signature.field("check level", mpi::name(check_level));
}

}  // namespace plumb
