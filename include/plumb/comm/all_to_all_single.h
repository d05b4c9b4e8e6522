#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Rows (entries of dim 0) from every rank to every rank: block r of the input's rows goes to group rank r,
/// and the rows from rank r become block r of the output's. Collective over the group; host memory, any
/// strides; inputs are not changed, outputs are written through their strides and returned. A rank outside
/// the group gets an undefined tensor and nothing is written.
///
/// Even: all blocks have the same number of rows; input and output have the same shape, also on all ranks,
/// and their rows are a multiple of the group's size. The adjoint is the op itself.
///
/// Throws the same AgreementError on all ranks, with nothing written: a tensor that is undefined or has no
/// dim 0; rows that are no multiple of the size; an output of another dtype or shape, or that overlaps itself
/// or the input; dtype or shape that differ between ranks.
Tensor all_to_all_single(const Tensor& output, const Tensor& input, GroupRef group);
/// The same into a fresh, contiguous tensor.
Tensor all_to_all_single(const Tensor& input, GroupRef group);

/// Uneven: block r has input_split_sizes[r] rows, and output_split_sizes[r] come from rank r (0 is legal).
/// Where one of the two is not given its blocks are even; where neither is given on any rank, this is the
/// even form. Either every rank of the group gives at least one of the two, or none does. Input and output
/// may have different numbers of rows. The adjoint is the op with the two split arguments swapped.
///
/// Throws the same AgreementError on all ranks, with nothing written: as above, where only the shape behind
/// dim 0 must be equal on all ranks; a split whose length is not the group's size, with a negative entry, or
/// whose sum is not the tensor's rows; a pair of ranks of which one sends another number of rows than the
/// other expects; splits given on some ranks only.
Tensor all_to_all_single(const Tensor& output, const Tensor& input,
                         const std::optional<std::vector<std::int64_t>>& output_split_sizes,
                         const std::optional<std::vector<std::int64_t>>& input_split_sizes, GroupRef group);
/// The same into a fresh, contiguous tensor with as many rows as output_split_sizes add up to.
Tensor all_to_all_single(const Tensor& input, const std::vector<std::int64_t>& output_split_sizes,
                         const std::vector<std::int64_t>& input_split_sizes, GroupRef group);

Async<Tensor> all_to_all_single_async(const Tensor& output, const Tensor& input, GroupRef group);
Async<Tensor> all_to_all_single_async(const Tensor& input, GroupRef group);
Async<Tensor> all_to_all_single_async(const Tensor& output, const Tensor& input,
                                      const std::optional<std::vector<std::int64_t>>& output_split_sizes,
                                      const std::optional<std::vector<std::int64_t>>& input_split_sizes,
                                      GroupRef group);
Async<Tensor> all_to_all_single_async(const Tensor& input,
                                      const std::vector<std::int64_t>& output_split_sizes,
                                      const std::vector<std::int64_t>& input_split_sizes, GroupRef group);

}  // namespace plumb
