#pragma once

#include <plumb/comm/async.h>
#include <plumb/comm/reduce_op.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// The reduction of all ranks' inputs, element by element, in rank order (see ReduceOp; the bits that
/// all_reduce gives), of which rank i gets the i-th of size equal chunks along dim 0: [size * d0, …] →
/// [d0, …]. Collective over the group; inputs have the same shape and dtype everywhere, any strides, host
/// memory. Inputs are not changed; the result is fresh and contiguous. A rank outside the group gets an
/// undefined tensor. Throws AgreementError: an undefined input, one without dimensions, an extent of dim 0
/// that is no multiple of the group's size, an operator that is not defined for the dtype; shape, dtype or
/// operator that differ between ranks.
///
/// Adjoint (sum): all_gather of the ranks' gradients.
Tensor reduce_scatter(const Tensor& input, ReduceOp op, GroupRef group);
/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or the input; then nothing is written.
Tensor reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op, GroupRef group);

Async<Tensor> reduce_scatter_async(const Tensor& input, ReduceOp op, GroupRef group);
Async<Tensor> reduce_scatter_async(const Tensor& output, const Tensor& input, ReduceOp op, GroupRef group);

}  // namespace plumb
