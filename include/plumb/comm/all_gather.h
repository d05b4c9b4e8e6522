#pragma once

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Every rank gets every rank's input. Collective over the group; inputs have the same shape and dtype
/// everywhere, any strides, host memory. Inputs are not changed; the result is fresh and contiguous. A rank
/// outside the group gets an undefined tensor. Throws AgreementError: an undefined input; shape, dtype or
/// form that differ between ranks.
///
/// Joined along dim 0: [d0, …] → [size * d0, …], and [] → [size].
Tensor all_gather(const Tensor& input, GroupRef group);
/// Stacked along a new dim 0: [d0, …] → [size, d0, …].
Tensor all_gather_stacked(const Tensor& input, GroupRef group);

/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or the input; then nothing is written.
Tensor all_gather(const Tensor& output, const Tensor& input, GroupRef group);
Tensor all_gather_stacked(const Tensor& output, const Tensor& input, GroupRef group);

Async<Tensor> all_gather_async(const Tensor& input, GroupRef group);
Async<Tensor> all_gather_stacked_async(const Tensor& input, GroupRef group);
Async<Tensor> all_gather_async(const Tensor& output, const Tensor& input, GroupRef group);
Async<Tensor> all_gather_stacked_async(const Tensor& output, const Tensor& input, GroupRef group);

}  // namespace plumb
