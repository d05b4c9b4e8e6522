#include "cli/launcher.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace plumb::cli {

namespace {

std::optional<int> number(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr) return std::nullopt;
    const std::string_view text(value);
    int result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (error != std::errc{} || end != text.data() + text.size() || result < 0) return std::nullopt;
    return result;
}

struct Variables {
    const char* rank;
    const char* size;
};

// The one place that knows the launchers' variables: Open MPI, MPICH and its kin, PMIx, Slurm.
constexpr std::array kLaunchers = {Variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   Variables{"PMI_RANK", "PMI_SIZE"}, Variables{"PMIX_RANK", "PMIX_SIZE"},
                                   Variables{"SLURM_PROCID", "SLURM_NTASKS"}};

}  // namespace

Launch launch_from_environment() {
    for (const Variables& launcher : kLaunchers) {
        if (const auto rank = number(launcher.rank)) {
            const int size = number(launcher.size).value_or(*rank + 1);
            return {*rank, size > *rank ? size : *rank + 1};
        }
    }
    return {};
}

}  // namespace plumb::cli
