#pragma once

#include <string>
#include <vector>

#include <plumb/ops/gather_region.h>
#include <plumb/ops/scatter_region.h>

#include "ops_regions/shards.h"
#include "support/async_contract.h"

namespace plumb::test {

inline constexpr Rank0Only kBoth[] = {Rank0Only::yes, Rank0Only::no};

/// A shape of one rank's chunk, and the dimension along which the chunks make the whole.
struct ChunkCase {
    Shape chunk;
    int dim;

    /// 0 … ndim-1.
    [[nodiscard]] int place() const { return dim < 0 ? dim + chunk.ndim() : dim; }
    [[nodiscard]] Shape whole() const { return chunk.with(place(), chunk[place()] * ranks()); }
    /// What of `whole` index `index` of position `position`'s chunk is.
    [[nodiscard]] Index in_whole(Index index, int position) const {
        index[static_cast<std::size_t>(place())] += position * chunk[place()];
        return index;
    }
};

inline const std::vector<ChunkCase>& chunk_cases() {
    static const std::vector<ChunkCase> cases = {{{2, 3, 2}, 1},  {{2, 3, 2}, 0},
                                                 {{2, 3, 2}, -1}, {{5}, 0},
                                                 {{1, 3, 2}, 1},  {{3, 1}, 1},
                                                 {{2, 0, 3}, 1},  {{0, 2}, 1},
                                                 {{2, 2, 0}, 1},  {{1, 1, 1, 2, 2, 1, 1, 2}, 3},
                                                 {{4, 2}, -2},    {{2, 2, 1, 2, 1, 1, 2, 2}, -1}};
    return cases;
}

}  // namespace plumb::test
