#pragma once

#include <plumb/comm/async.h>
#include <plumb/comm/reduce_op.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// On rank `dst` the tensor becomes the reduction of all ranks' tensors, element by element, in rank order
/// (see ReduceOp), with the bits that all_reduce gives. In place, through the tensor's strides; the other
/// ranks' tensors are inputs only and are never changed. Returns the tensor, on every rank. Collective over
/// the group; tensors have the same shape and dtype everywhere, any strides (on `dst` such that the tensor
/// does not overlap itself), host memory. A rank outside the group gets an undefined tensor. Throws
/// AgreementError, with nothing written: an undefined tensor, one on `dst` that overlaps itself, an operator
/// that is not defined for the dtype, a `dst` outside the group; shape, dtype, `dst` or operator that differ
/// between ranks.
///
/// Adjoint (sum): broadcast of dst's gradient.
Tensor reduce(const Tensor& tensor, Root dst, ReduceOp op, GroupRef group);
/// The contents of dst's tensor are undefined until `wait` has returned.
Async<Tensor> reduce_async(const Tensor& tensor, Root dst, ReduceOp op, GroupRef group);

}  // namespace plumb
