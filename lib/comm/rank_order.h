#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plumb/comm/reduce_op.h>
#include <plumb/tensor/dtype.h>

namespace plumb::comm {

/// out[i] = the reduction of inputs[0][i], inputs[1][i], …, in this order and by the rules of ReduceOp:
/// inputs[r] is what rank r of the group gave, contiguous, `count` elements of `dtype` at any address. `out`
/// may be one of the inputs, and must not overlap them otherwise. At least one input; `op` is defined for
/// `dtype`. Local, allocates nothing.
void reduce_in_rank_order(std::byte* out, std::span<const std::byte* const> inputs, std::int64_t count,
                          DType dtype, ReduceOp op);

}  // namespace plumb::comm
