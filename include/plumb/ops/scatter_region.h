#pragma once

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/ops/grad_mode.h>
#include <plumb/ops/rank0_only.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Enters the sequence parallel region: every rank gets its chunk of a whole tensor. Group size n, position
/// i:
///
///   [.., L, ..] → [.., L/n, ..], out = chunk i along `dim` of the whole.
///
/// Rank0Only::yes: the whole is the input of position 0, and its shape and dtype are what counts; the other
/// ranks' inputs are ignored and may be undefined. Rank0Only::no: every rank takes the chunk from its own
/// input, and no data moves; shapes and dtypes are equal on all ranks.
///
/// Collective over the group; any dtype, any strides, host memory. `dim` may be negative. The input is not
/// changed; the result is fresh and contiguous, in a group of one too, whose result has the input's shape,
/// whatever that and `dim` are. A rank outside the group gets an undefined tensor.
///
/// Throws AgreementError, the same on all ranks: an input that counts and is undefined, has no dimension
/// `dim`, or whose extent there is no multiple of n; rank0_only or the dimension meant by `dim` differing
/// between ranks; for Rank0Only::no also shape or dtype differing.
///
/// Backward: scatter_to_sequence_parallel_region_backward with the same arguments; its GradMode says in what
/// sense.
Tensor scatter_to_sequence_parallel_region(const Tensor& input, Rank0Only rank0_only = Rank0Only::yes,
                                           int dim = 1, GroupRef group = ParallelMode::sequence);

/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or an input that counts; then nothing is
/// written.
Tensor scatter_to_sequence_parallel_region(const Tensor& output, const Tensor& input,
                                           Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                           GroupRef group = ParallelMode::sequence);

Async<Tensor> scatter_to_sequence_parallel_region_async(const Tensor& input,
                                                        Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                        GroupRef group = ParallelMode::sequence);
Async<Tensor> scatter_to_sequence_parallel_region_async(const Tensor& output, const Tensor& input,
                                                        Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                        GroupRef group = ParallelMode::sequence);

/// The gradient of the input from that of the output, [.., l, ..] → [.., n*l, ..].
///
/// GradMode::replica_mean: the gradients of all ranks, each element divided by n (a true division, in f32 or
/// wider, rounded once), joined along `dim` in group order. Every rank gets the whole, also those whose input
/// was ignored. `rank0_only` is only compared between ranks.
///
/// Collective over the group; shapes and dtypes are equal on all ranks; floating point and complex dtypes
/// (divided by component). Otherwise as the forward. Throws AgreementError: undefined, of an integer dtype or
/// bool, or without dimension `dim`; shape, dtype, dim, rank0_only or mode differing between ranks.
Tensor scatter_to_sequence_parallel_region_backward(const Tensor& grad_output,
                                                    Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                    GroupRef group = ParallelMode::sequence,
                                                    GradMode mode = GradMode::replica_mean);
Tensor scatter_to_sequence_parallel_region_backward(const Tensor& grad_input, const Tensor& grad_output,
                                                    Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
                                                    GroupRef group = ParallelMode::sequence,
                                                    GradMode mode = GradMode::replica_mean);

Async<Tensor> scatter_to_sequence_parallel_region_backward_async(const Tensor& grad_output,
                                                                 Rank0Only rank0_only = Rank0Only::yes,
                                                                 int dim = 1,
                                                                 GroupRef group = ParallelMode::sequence,
                                                                 GradMode mode = GradMode::replica_mean);
Async<Tensor> scatter_to_sequence_parallel_region_backward_async(
    const Tensor& grad_input, const Tensor& grad_output, Rank0Only rank0_only = Rank0Only::yes, int dim = 1,
    GroupRef group = ParallelMode::sequence, GradMode mode = GradMode::replica_mean);

}  // namespace plumb
