#include "ops/region.h"

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/movement.h"

namespace plumb::ops {

namespace {

void describe_call(mpi::Signature& signature, const RegionCall& call) {
    signature.field("rank0_only", call.rank0_only == Rank0Only::yes ? "yes" : "no");
    if (call.grad_mode) {
        signature.field("grad_mode", name(*call.grad_mode));
    }
}

void require_tensor(const Tensor& tensor, const RegionCall& call) {
    comm::require_defined(tensor, call.input_name());
    if (call.grad_mode && !is_floating(tensor.dtype()) && !is_complex(tensor.dtype())) {
        throw ArgumentError(fmt::format("{} has dtype {}, allowed are floating point and complex",
                                        call.input_name(), name(tensor.dtype())));
    }
}

/// A group of one passes any shape through, so there `dim` need not exist.
int resolve_dim(const RegionCall& call, const Shape& shape, int size) {
    return size == 1 ? 0 : normalise_dim(call.dim, shape.ndim());
}

Shape joined_shape(const Shape& part, int dim, int size) {
    return size == 1 ? part : multiplied(part, dim, size);
}

Shape chunk_shape(const Shape& whole, int dim, int size) {
    return size == 1 ? whole : whole.with(dim, whole[dim] / size);
}

void require_divisible(const RegionCall& call, const Shape& whole, int dim, int size) {
    if (size > 1 && whole[dim] % size != 0) {
        throw ArgumentError(
            fmt::format("{} has extent {} along dim {}, allowed are multiples of the group size {}",
                        call.input_name(), whole[dim], dim, size));
    }
}

Tensor chunk(const Tensor& whole, int dim, int position, int size) {
    if (size == 1) {
        return whole;
    }
    const std::int64_t extent = whole.extent(dim) / size;
    return whole.narrow(dim, position * extent, extent);
}

std::int64_t bytes_of(const Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.view().bytes());
}

}  // namespace

void JoinRegion::prepare() {
    require_tensor(input_, call_);
    const int size = channel().size();
    dim_ = resolve_dim(call_, input_.shape(), size);
    prepare_output(input_.dtype(), joined_shape(input_.shape(), dim_, size), input_);
    part_ = call_.grad_mode ? input_.clone() : input_.contiguous();
    if (call_.grad_mode) {
        divide(part_.view(), size);
    }
    // Parts that lie one after the other in the output arrive where they belong.
    const bool in_place = output().is_contiguous() && chunk(output(), dim_, 0, size).is_contiguous();
    received_ = in_place ? output() : Tensor::empty({size * input_.element_count()}, input_.dtype());
}

void JoinRegion::describe(mpi::Signature& signature) const {
    describe_call(signature, call_);
    signature.field("dim", dim_);
    comm::describe(signature, input_name(), input_);
}

mpi::Operation::Posted JoinRegion::post(int, mpi::RequestSet& requests) {
    comm::post_all_gather(channel(), part_.bytes(), received_.bytes(), bytes_of(part_), requests);
    return Posted::all;
}

void JoinRegion::complete() {
    if (received_.shares_storage_with(output())) {
        return;
    }
    for (int r = 0; r < channel().size(); ++r) {
        Tensor place = chunk(output(), dim_, r, channel().size());
        unpack(place.view(), received_.bytes() + r * bytes_of(part_));
    }
}

void SplitRegion::prepare() {
    if (!has_whole()) {
        input_ = {};
        return;
    }
    require_tensor(input_, call_);
    const int size = channel().size();
    dim_ = resolve_dim(call_, input_.shape(), size);
    require_divisible(call_, input_.shape(), dim_, size);
    prepare_output(input_.dtype(), chunk_shape(input_.shape(), dim_, size), input_);
    if (from_first()) {
        pack_parts();
    }
}

void SplitRegion::pack_parts() {
    for (int r = 0; r < channel().size(); ++r) {
        const bool own = r == channel().rank();
        parts_.push_back(own ? Tensor{} : chunk(input_, dim_, r, channel().size()).contiguous());
        sends_.push_back(parts_.back().bytes());
    }
}

void SplitRegion::describe(mpi::Signature& signature) const {
    describe_call(signature, call_);
    if (!from_first()) {
        signature.field("dim", dim_);
        comm::describe(signature, input_name(), input_);
    } else if (knows_shape_) {
        // Which dimension is meant is known to all ranks only once the first one's shape is.
        signature.field("dim", dim_);
    }
}

mpi::Header SplitRegion::header() const {
    return has_whole() ? comm::to_header(input_.dtype(), input_.shape()) : mpi::Header{};
}

void SplitRegion::receive_header(const mpi::Header& header) {
    knows_shape_ = true;
    if (has_whole()) {
        return;
    }
    const auto [dtype, whole] = comm::from_header(header);
    dim_ = resolve_dim(call_, whole, channel().size());
    prepare_output(dtype, chunk_shape(whole, dim_, channel().size()), {});
    received_ = output().is_contiguous() ? output() : Tensor::empty(output().shape(), dtype);
}

mpi::Operation::Posted SplitRegion::post(int, mpi::RequestSet& requests) {
    if (from_first()) {
        comm::post_scatter(channel(), sends_, received_.bytes(), bytes_of(output()), 0, requests);
    }
    return Posted::all;
}

void SplitRegion::complete() {
    if (has_whole()) {
        copy(output().view(), chunk(input_, dim_, channel().rank(), channel().size()).view());
    } else if (!received_.shares_storage_with(output())) {
        copy(output().view(), received_.view());
    }
    if (call_.grad_mode) {
        multiply(output().view(), channel().size());
    }
}

}  // namespace plumb::ops
