#pragma once

#include <optional>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// The tensor of group rank r arrives in entry r of the list on `dst`. Collective over the group.
///
/// `tensor` has the same shape and dtype on every rank, host memory, any strides; it is not changed.
/// `gather_list` is given on `dst` and only there (an empty list elsewhere counts as none): one tensor per
/// rank of the group, each of the tensor's shape and dtype, any strides; they are written through these.
/// Returns the list on `dst`, and an empty one on every other rank, in the group or not.
///
/// Throws the same AgreementError on all ranks, with nothing written: no list on dst, a list elsewhere, a
/// list of another length than the group's size, an entry that is undefined, of another dtype or shape than
/// the tensor, or that overlaps itself, another entry or the tensor; tensor dtype, tensor shape or dst that
/// differ between ranks; a dst outside the group. Adjoint: scatter.
std::vector<Tensor> gather(const Tensor& tensor, const std::optional<std::vector<Tensor>>& gather_list,
                           Root dst, GroupRef group);
/// The same into fresh, contiguous tensors, which `dst` gets. Ranks other than dst may call either form.
std::vector<Tensor> gather(const Tensor& tensor, Root dst, GroupRef group);

Async<std::vector<Tensor>> gather_async(const Tensor& tensor,
                                        const std::optional<std::vector<Tensor>>& gather_list, Root dst,
                                        GroupRef group);
Async<std::vector<Tensor>> gather_async(const Tensor& tensor, Root dst, GroupRef group);

}  // namespace plumb
