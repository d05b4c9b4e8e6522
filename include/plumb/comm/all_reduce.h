#pragma once

#include <plumb/comm/async.h>
#include <plumb/comm/reduce_op.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Every rank's tensor becomes the reduction of all ranks' tensors, element by element, in rank order (see
/// ReduceOp): the same bits on every rank. In place, through the tensor's strides; returns the tensor.
/// Collective over the group; tensors have the same shape and dtype everywhere, any strides, host memory. A
/// rank outside the group gets an undefined tensor, and its argument is not touched. Throws AgreementError,
/// with nothing written: an undefined tensor, one that overlaps itself, an operator that is not defined for
/// the dtype; shape, dtype or operator that differ between ranks.
///
/// Besides the tensor it needs memory for up to n contributions, n being the group's size, where all are
/// small or n is 2, and for one contribution otherwise (one more where the tensor is not contiguous).
///
/// Adjoint (sum): all_reduce with sum of the ranks' gradients; for avg the same with avg.
Tensor all_reduce(const Tensor& tensor, ReduceOp op, GroupRef group);
/// The tensor's contents are undefined until `wait` has returned.
Async<Tensor> all_reduce_async(const Tensor& tensor, ReduceOp op, GroupRef group);

}  // namespace plumb
