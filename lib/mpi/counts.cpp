#include <plumb/mpi/counts.h>

#include <limits>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::mpi {

namespace {
constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();
std::int64_t limit_in_force = kIntMax;
}  // namespace

std::int64_t count_limit() noexcept {
    return limit_in_force;
}

void set_count_limit(std::int64_t limit) {
    if (limit < 1 || limit > kIntMax) {
        throw ArgumentError(fmt::format("limit is {}, allowed is 1 … {}", limit, kIntMax));
    }
    limit_in_force = limit;
}

}  // namespace plumb::mpi
