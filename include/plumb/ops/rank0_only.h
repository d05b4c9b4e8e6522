#pragma once

#include <cstdint>

namespace plumb {

/// Whether the whole tensor of a region op is on the group's first rank only (`yes`), or on every rank
/// (`no`).
enum class Rank0Only : std::uint8_t { no, yes };

}  // namespace plumb
