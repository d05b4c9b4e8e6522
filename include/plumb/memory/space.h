#pragma once

#include <cstdint>
#include <string_view>

namespace plumb {

/// Where memory lives. Only `host` can be allocated today; the others name what a pointer may be found to be.
enum class MemorySpace : std::uint8_t { host, sim, cuda };

[[nodiscard]] constexpr std::string_view name(MemorySpace space) {
    switch (space) {
        case MemorySpace::host:
            return "host";
        case MemorySpace::sim:
            return "sim";
        case MemorySpace::cuda:
            return "cuda";
    }
    return "?";
}

}  // namespace plumb
