#pragma once

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/ops/grad_mode.h>
#include <plumb/ops/rank0_only.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Leaves the sequence parallel region: every rank gets the whole tensor. Group size n:
///
///   [.., l, ..] → [.., n*l, ..], out = the inputs of all ranks joined along `dim` in group order.
///
/// `rank0_only` says where the whole tensor was, and so matters to the backward; the values are the same for
/// both.
///
/// Collective over the group; shapes and dtypes are equal on all ranks; any dtype, any strides, host memory.
/// `dim` may be negative. The input is not changed; the result is fresh and contiguous, in a group of one
/// too, whose result has the input's shape, whatever that and `dim` are. A rank outside the group gets an
/// undefined tensor.
///
/// Throws AgreementError, the same on all ranks: an input that is undefined or has no dimension `dim`; shape,
/// dtype, the dimension meant by `dim` or rank0_only differing between ranks.
///
/// Backward: gather_from_sequence_parallel_region_backward with the same arguments; its GradMode says in what
/// sense.
Tensor gather_from_sequence_parallel_region(const Tensor& input, Rank0Only rank0_only = Rank0Only::yes,
                                            int dim = 1, GroupRef group = ParallelMode::sequence);

/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or the input; then nothing is written.
Tensor gather_from_sequence_parallel_region(const Tensor& output, const Tensor& input,
                                            Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                            GroupRef group = ParallelMode::sequence);

Async<Tensor> gather_from_sequence_parallel_region_async(const Tensor& input,
                                                         Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                         GroupRef group = ParallelMode::sequence);
Async<Tensor> gather_from_sequence_parallel_region_async(const Tensor& output, const Tensor& input,
                                                         Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                         GroupRef group = ParallelMode::sequence);

/// The gradient of the input from that of the output, [.., L, ..] → [.., L/n, ..]. Position i gets
///
/// GradMode::replica_mean: chunk i along `dim`, times n (rounded once), of position 0's gradient with
/// Rank0Only::yes (its shape and dtype are what counts; the others' are ignored and may be undefined), of the
/// rank's own with Rank0Only::no (no data moves; shapes and dtypes are equal on all ranks). Nothing is summed
/// over ranks.
///
/// Collective over the group; floating point and complex dtypes. Otherwise as the forward. Throws
/// AgreementError: a gradient that counts and is undefined, of an integer dtype or bool, has no dimension
/// `dim`, or whose extent there is no multiple of n; dim, rank0_only or mode differing between ranks; for
/// Rank0Only::no also shape or dtype differing.
Tensor gather_from_sequence_parallel_region_backward(const Tensor& grad_output,
                                                     Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                     GroupRef group = ParallelMode::sequence,
                                                     GradMode mode = GradMode::replica_mean);
Tensor gather_from_sequence_parallel_region_backward(const Tensor& grad_input, const Tensor& grad_output,
                                                     Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                     GroupRef group = ParallelMode::sequence,
                                                     GradMode mode = GradMode::replica_mean);

Async<Tensor> gather_from_sequence_parallel_region_backward_async(const Tensor& grad_output,
                                                                  Rank0Only rank0_only = Rank0Only::yes,
                                                                  int dim = 1,
                                                                  GroupRef group = ParallelMode::sequence,
                                                                  GradMode mode = GradMode::replica_mean);
Async<Tensor> gather_from_sequence_parallel_region_backward_async(
    const Tensor& grad_input, const Tensor& grad_output, Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
    GroupRef group = ParallelMode::sequence, GradMode mode = GradMode::replica_mean);

}  // namespace plumb
