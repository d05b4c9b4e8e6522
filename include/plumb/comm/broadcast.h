#pragma once

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// The tensor of `src` arrives in everybody's. Collective over the group; in place.
///
/// `tensor` has the same shape and dtype on every rank, host memory, any strides; on src it is not changed,
/// elsewhere it is written through its strides. It is returned. A rank outside the group gets an undefined
/// tensor and nothing is written.
///
/// Throws the same AgreementError on all ranks, with nothing written: a tensor that is undefined or overlaps
/// itself (on src too); tensor dtype, tensor shape or src that differ between ranks; a src outside the group.
/// Adjoint: the sum of all ranks' gradients on src (reduce).
Tensor broadcast(const Tensor& tensor, Root src, GroupRef group);
Async<Tensor> broadcast_async(const Tensor& tensor, Root src, GroupRef group);

}  // namespace plumb
