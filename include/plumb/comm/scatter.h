#pragma once

#include <optional>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Entry r of the list on `src` arrives in the output of group rank r. Collective over the group.
///
/// `output` has the same shape and dtype on every rank, host memory, any strides; it is written through them
/// and returned. `scatter_list` is given on `src` and only there (an empty list elsewhere counts as none):
/// one tensor per rank of the group, each of the output's shape and dtype, any strides. The list's tensors
/// are not changed. A rank outside the group gets an undefined tensor and nothing is written.
///
/// Throws the same AgreementError on all ranks, with nothing written: no list on src, a list elsewhere, a
/// list of another length than the group's size, an entry of another dtype or shape than the output, an
/// output that is undefined, overlaps itself or an entry; output dtype, output shape or src that differ
/// between ranks; a src outside the group. Adjoint: gather.
Tensor scatter(const Tensor& output, const std::optional<std::vector<Tensor>>& scatter_list, Root src,
               GroupRef group);
/// The handle's result is the output, which is not written before every rank has called.
Async<Tensor> scatter_async(const Tensor& output, const std::optional<std::vector<Tensor>>& scatter_list,
                            Root src, GroupRef group);

}  // namespace plumb
