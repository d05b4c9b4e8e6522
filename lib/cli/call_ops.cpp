#include <plumb/ops/all_to_all.h>
#include <plumb/ops/gather_region.h>
#include <plumb/ops/halo_exchange.h>
#include <plumb/ops/scatter_region.h>

#include "cli/call_support.h"

namespace plumb::cli {

namespace {

using oracle::Role;

struct AllToAllArguments {
    explicit AllToAllArguments(const Call& call)
        : gather_dim(to_int(*call.item.params.gather_dim)),
          scatter_dim(to_int(*call.item.params.scatter_dim)) {}
    int gather_dim;
    int scatter_dim;
};

Values all_to_all_forward(const Call& call, const Values& input) {
    const AllToAllArguments a(call);
    const Tensor& x = input.tensor;
    return make_or_fill(
        call, Role::out, x.shape(),
        [&](const auto&... out) { return all_to_all(out..., x, a.gather_dim, a.scatter_dim, call.group); },
        [&](const auto&... out) {
            return all_to_all_async(out..., x, a.gather_dim, a.scatter_dim, call.group);
        });
}

Tensor all_to_all_grad(const Call& call, const Tensor& grad) {
    const AllToAllArguments a(call);
    return make_or_fill(
        call, Role::grad_in, grad.shape(),
        [&](const auto&... out) {
            return all_to_all_backward(out..., grad, a.gather_dim, a.scatter_dim, call.group);
        },
        [&](const auto&... out) {
            return all_to_all_backward_async(out..., grad, a.gather_dim, a.scatter_dim, call.group);
        });
}

struct RegionArguments {
    explicit RegionArguments(const Call& call)
        : rank0_only(*call.item.params.rank0_only ? Rank0Only::yes : Rank0Only::no),
          dim(to_int(call.item.params.dim.value_or(1))),
          mode(grad_mode_from_name(call.item.params.grad_mode.value_or("replica_mean"))) {}
    Rank0Only rank0_only;
    int dim;
    GradMode mode;
};

Values scatter_region_forward(const Call& call, const Values& input) {
    const RegionArguments a(call);
    const Tensor& x = input.tensor;
    return make_or_fill(
        call, Role::out, x.shape(),
        [&](const auto&... out) {
            return scatter_to_sequence_parallel_region(out..., x, a.rank0_only, a.dim, call.group);
        },
        [&](const auto&... out) {
            return scatter_to_sequence_parallel_region_async(out..., x, a.rank0_only, a.dim, call.group);
        });
}

Tensor scatter_region_grad(const Call& call, const Tensor& grad) {
    const RegionArguments a(call);
    return make_or_fill(
        call, Role::grad_in, grad.shape(),
        [&](const auto&... out) {
            return scatter_to_sequence_parallel_region_backward(out..., grad, a.rank0_only, a.dim, call.group,
                                                                a.mode);
        },
        [&](const auto&... out) {
            return scatter_to_sequence_parallel_region_backward_async(out..., grad, a.rank0_only, a.dim,
                                                                      call.group, a.mode);
        });
}

Values gather_region_forward(const Call& call, const Values& input) {
    const RegionArguments a(call);
    const Tensor& x = input.tensor;
    return make_or_fill(
        call, Role::out, x.shape(),
        [&](const auto&... out) {
            return gather_from_sequence_parallel_region(out..., x, a.rank0_only, a.dim, call.group);
        },
        [&](const auto&... out) {
            return gather_from_sequence_parallel_region_async(out..., x, a.rank0_only, a.dim, call.group);
        });
}

Tensor gather_region_grad(const Call& call, const Tensor& grad) {
    const RegionArguments a(call);
    return make_or_fill(
        call, Role::grad_in, grad.shape(),
        [&](const auto&... out) {
            return gather_from_sequence_parallel_region_backward(out..., grad, a.rank0_only, a.dim,
                                                                 call.group, a.mode);
        },
        [&](const auto&... out) {
            return gather_from_sequence_parallel_region_backward_async(out..., grad, a.rank0_only, a.dim,
                                                                       call.group, a.mode);
        });
}

struct HaloArguments {
    explicit HaloArguments(const Call& call)
        : left(*call.item.params.left_size),
          right(*call.item.params.right_size),
          dim(to_int(*call.item.params.dim)),
          impl(call.item.impl.empty() ? get_cp_halo_impl() : halo_impl_from_name(call.item.impl)) {}
    std::int64_t left;
    std::int64_t right;
    int dim;
    HaloImpl impl;
};

Values halo_forward(const Call& call, const Values& input) {
    const HaloArguments a(call);
    const Tensor& x = input.tensor;
    return make_or_fill(
        call, Role::out, x.shape(),
        [&](const auto&... out) {
            return cp_halo_exchange(out..., x, a.left, a.right, a.dim, call.group, a.impl);
        },
        [&](const auto&... out) {
            return cp_halo_exchange_async(out..., x, a.left, a.right, a.dim, call.group, a.impl);
        });
}

Tensor halo_grad(const Call& call, const Tensor& grad) {
    const HaloArguments a(call);
    return make_or_fill(
        call, Role::grad_in, grad.shape(),
        [&](const auto&... out) {
            return cp_halo_exchange_backward(out..., grad, a.left, a.right, a.dim, call.group, a.impl);
        },
        [&](const auto&... out) {
            return cp_halo_exchange_backward_async(out..., grad, a.left, a.right, a.dim, call.group, a.impl);
        });
}

}  // namespace

std::vector<Driver> differentiable_drivers() {
    return {{"all_to_all", all_to_all_forward, all_to_all_grad},
            {"scatter_to_sequence_parallel_region", scatter_region_forward, scatter_region_grad},
            {"gather_from_sequence_parallel_region", gather_region_forward, gather_region_grad},
            {"cp_halo_exchange", halo_forward, halo_grad}};
}

}  // namespace plumb::cli
