#pragma once

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Moves the shards of a tensor from one dimension to another: chunk j of `scatter_dim` goes to rank j, and
/// the chunks received are joined along `gather_dim` in rank order.
///
///   input  [.., S at scatter_dim, .., G at gather_dim, ..]   the same shape and dtype on every rank, any
///   strides output [.., S / size,         .., G * size,        ..]   fresh and contiguous
///
/// Collective over the group; host memory; `size` ranks. Every element type; the elements are moved, never
/// changed. Neither the input nor, on a group of one rank, its storage is ever part of the output. A rank
/// outside the group gets an undefined tensor.
///
/// Throws AgreementError, the same on every rank, before anything has moved: an undefined input, gather_dim
/// equal to scatter_dim, a dim outside 0 … ndim-1 (negative dims are refused), an extent of scatter_dim that
/// `size` does not divide; shape, dtype or dims that differ between ranks.
///
/// Adjoint: the map is a permutation of elements over all ranks, so its transpose is its inverse, the same op
/// with the dims exchanged: all_to_all_backward(g, gather_dim, scatter_dim) = all_to_all(g, scatter_dim,
/// gather_dim).
Tensor all_to_all(const Tensor& input, int gather_dim, int scatter_dim, GroupRef group);
Async<Tensor> all_to_all_async(const Tensor& input, int gather_dim, int scatter_dim, GroupRef group);

/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or the input. The blocking form, called again
/// with the same shapes, strides, dtype and dims, allocates nothing.
Tensor all_to_all(const Tensor& output, const Tensor& input, int gather_dim, int scatter_dim, GroupRef group);
Async<Tensor> all_to_all_async(const Tensor& output, const Tensor& input, int gather_dim, int scatter_dim,
                               GroupRef group);

/// The gradient of the input, from the gradient of the output and the forward call's own dims.
///
///   grad_output [.., S / size at scatter_dim, .., G * size at gather_dim, ..]  →  [.., S, .., G, ..]
///
/// Collective; errors as above, the extent of gather_dim being the one that `size` must divide.
Tensor all_to_all_backward(const Tensor& grad_output, int gather_dim, int scatter_dim, GroupRef group);
Async<Tensor> all_to_all_backward_async(const Tensor& grad_output, int gather_dim, int scatter_dim,
                                        GroupRef group);
Tensor all_to_all_backward(const Tensor& grad_input, const Tensor& grad_output, int gather_dim,
                           int scatter_dim, GroupRef group);
Async<Tensor> all_to_all_backward_async(const Tensor& grad_input, const Tensor& grad_output, int gather_dim,
                                        int scatter_dim, GroupRef group);

}  // namespace plumb
