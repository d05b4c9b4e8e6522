#pragma once

#include <cstdint>

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>
#include <plumb/ops/halo_impl.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Extends every rank's shard of a sequence by slices of its neighbours in the group, along `dim`:
///
///   [.., T, ..] → [.., left + T + right, ..]
///   out = [last `left` slices of the previous rank | x | first `right` slices of the next rank]
///
/// with zeros before the first and after the last rank's shard. `left` and `right` are numbers of slices.
///
/// Collective over the group; any dtype, any strides, host memory. T may differ between ranks, but every
/// rank's is >= left and >= right; all other extents and the dtype are equal on all ranks. `dim` may be
/// negative. x is not changed; the result is fresh and contiguous, for left = right = 0 (the identity) and in
/// a group of one too. A rank outside the group gets an undefined tensor.
///
/// Throws AgreementError, the same on all ranks: an undefined x, a dim it does not have, a width that is
/// negative or wider than the extent of any rank; dtype, other extents, left, right, dim or impl differing
/// between ranks.
///
/// Adjoint: cp_halo_exchange_backward with the same arguments, exactly.
Tensor cp_halo_exchange(const Tensor& x, std::int64_t left, std::int64_t right, int dim, GroupRef group,
                        HaloImpl impl = get_cp_halo_impl());

/// The same into the caller's tensor, through its strides; returns it. Throws AgreementError also for an
/// output of another shape or dtype, or that overlaps itself or x; then nothing is written.
Tensor cp_halo_exchange(const Tensor& output, const Tensor& x, std::int64_t left, std::int64_t right, int dim,
                        GroupRef group, HaloImpl impl = get_cp_halo_impl());

Async<Tensor> cp_halo_exchange_async(const Tensor& x, std::int64_t left, std::int64_t right, int dim,
                                     GroupRef group, HaloImpl impl = get_cp_halo_impl());
Async<Tensor> cp_halo_exchange_async(const Tensor& output, const Tensor& x, std::int64_t left,
                                     std::int64_t right, int dim, GroupRef group,
                                     HaloImpl impl = get_cp_halo_impl());

/// The gradient of x from that of the output, [.., left + T + right, ..] → [.., T, ..]: the transpose of the
/// map above. Starts from the middle part of the rank's own gradient; then, if left > 0, the next rank's
/// left-halo gradient is added to the last `left` slices; then, if right > 0, the previous rank's right-halo
/// gradient is added to the first `right` slices. Each addition is rounded to the dtype; the order matters
/// where the two overlap (left + right > T). The end ranks add zeros there, so -0.0 becomes +0.0.
///
/// Collective, as the forward; any dtype but bool (integers wrap). Throws AgreementError as the forward,
/// with T = extent - left - right; for bool too.
Tensor cp_halo_exchange_backward(const Tensor& grad_output, std::int64_t left, std::int64_t right, int dim,
                                 GroupRef group, HaloImpl impl = get_cp_halo_impl());
Tensor cp_halo_exchange_backward(const Tensor& grad_input, const Tensor& grad_output, std::int64_t left,
                                 std::int64_t right, int dim, GroupRef group,
                                 HaloImpl impl = get_cp_halo_impl());

Async<Tensor> cp_halo_exchange_backward_async(const Tensor& grad_output, std::int64_t left,
                                              std::int64_t right, int dim, GroupRef group,
                                              HaloImpl impl = get_cp_halo_impl());
Async<Tensor> cp_halo_exchange_backward_async(const Tensor& grad_input, const Tensor& grad_output,
                                              std::int64_t left, std::int64_t right, int dim, GroupRef group,
                                              HaloImpl impl = get_cp_halo_impl());

}  // namespace plumb
