#pragma once

#include <string>
#include <vector>

#include <plumb/ops/halo_exchange.h>

#include "ops_regions/shards.h"
#include "support/async_contract.h"

namespace plumb::test {

inline constexpr HaloImpl kImpls[] = {HaloImpl::p2p, HaloImpl::collective};

/// Shards that differ between ranks in nothing but their extent along `dim`, and how wide the halos are.
struct HaloCase {
    Shape shape;  ///< of rank 0's shard
    int dim;      ///< as given to the op
    std::int64_t left;
    std::int64_t right;
    bool uneven = false;  ///< rank r's extent is that of rank 0 plus 2r mod 3

    /// 0 … ndim-1.
    [[nodiscard]] int place() const { return dim < 0 ? dim + shape.ndim() : dim; }
    [[nodiscard]] std::int64_t extent(int r) const { return shape[place()] + (uneven ? 2 * r % 3 : 0); }
    [[nodiscard]] Shape shard_shape(int r) const { return shape.with(place(), extent(r)); }
    [[nodiscard]] Shape extended_shape(int r) const { return shape.with(place(), left + extent(r) + right); }
    [[nodiscard]] std::string name() const {
        return to_string(shape) + " dim " + std::to_string(dim) + " left " + std::to_string(left) +
               " right " + std::to_string(right) + (uneven ? " uneven" : "");
    }
};

/// Whose slice stands at place `at` along dim of rank r's result, and which of its slices; rank -1 or
/// ranks() beyond the ends.
struct Slice {
    int rank;
    std::int64_t at;
};
inline Slice source_slice(const HaloCase& each, int r, std::int64_t at) {
    if (at < each.left) {
        return {r - 1, r > 0 ? each.extent(r - 1) - each.left + at : 0};
    }
    if (at < each.left + each.extent(r)) {
        return {r, at - each.left};
    }
    return {r + 1, at - each.left - each.extent(r)};
}

inline bool exists(int r) {
    return r >= 0 && r < ranks();
}

inline const std::vector<HaloCase>& halo_cases() {
    static const std::vector<HaloCase> cases = {
        {{3, 2}, 0, 1, 0},        {{3, 2}, 0, 0, 1},
        {{3, 2}, 0, 2, 1},        {{3, 2}, 0, 3, 3},
        {{3, 2}, 1, 1, 2},        {{3, 2}, -1, 2, 2},
        {{3, 2}, 0, 0, 0},        {{2, 3, 2}, 1, 1, 1},
        {{2, 3, 2}, 1, 2, 3},     {{2, 3, 2}, -2, 3, 0},
        {{1, 3, 2}, 1, 2, 1},  // contiguous slices though not of dim 0
        {{4}, 0, 2, 3},           {{1}, 0, 1, 1},
        {{3, 2}, 0, 2, 2, true},  {{2, 3, 2}, 1, 3, 1, true},
        {{2, 2}, -1, 1, 2, true}, {{0, 3}, 1, 2, 1},  // no elements
        {{3, 0}, 0, 2, 1},        {{0, 3}, 0, 0, 0},  // an empty shard
        {{0}, 0, 0, 0, true},     {{1, 2, 1, 2, 3, 1, 2, 1}, 4, 1, 2},
    };
    return cases;
}

}  // namespace plumb::test
