#include <doctest/doctest.h>

#include <limits>

#include "ops_halo/halos.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// The last rank deviates.
bool odd() {
    return rank() == ranks() - 1;
}

std::string who() {
    return "rank " + std::to_string(ranks() - 1);
}

void check_usable(const Group& group) {
    const auto mine = static_cast<float>(rank() + 1);
    const Tensor out = cp_halo_exchange(Tensor::of<float>({1}, {mine}), 1, 0, 0, group);
    CHECK(out.to_vector<float>() == std::vector<float>{mine - 1, mine});
}

}  // namespace

TEST_CASE("halo exchange: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor good = Tensor::zeros({3, 2}, DType::f32);
    for (const HaloImpl impl : kImpls) {
        const auto exchange = [&](const Tensor& x, std::int64_t left, std::int64_t right, int dim) {
            return
                [&group, x, left, right, dim, impl] { cp_halo_exchange(x, left, right, dim, group, impl); };
        };
        same_error_everywhere(exchange(odd() ? Tensor{} : good, 1, 1, 0), {who(), "x is an undefined"});
        same_error_everywhere(exchange(good, -1, 0, 0), {"left is -1"});
        same_error_everywhere(exchange(good, 1, odd() ? -1 : 1, 0), {who(), "right is -1"});
        same_error_everywhere(exchange(good, 1, 1, 2), {"dim", "2"});
        same_error_everywhere(exchange(good, 0, 0, -3), {"dim", "-3"});
        same_error_everywhere(exchange(good, 4, 0, 0), {"left is 4", "extent along dim 0 is 3"});
        same_error_everywhere(exchange(good, 0, 3, -1), {"right is 3", "extent along dim 1 is 2"});
        same_error_everywhere(exchange(good, std::numeric_limits<std::int64_t>::max(), 1, 0), {"left is"});
        same_error_everywhere(exchange(odd() ? Tensor::zeros({1, 2}, DType::f32) : good, 0, 2, 0),
                              {who(), "right is 2", "extent along dim 0 is 1"});
        same_error_everywhere(exchange(Tensor::zeros({}, DType::f32), 0, 0, 0), {"dim"});
        check_usable(group);

        const auto into = [&](const Tensor& output, const Tensor& x) {
            return [&group, output, x, impl] { cp_halo_exchange(output, x, 1, 1, 0, group, impl); };
        };
        same_error_everywhere(into(Tensor::zeros({odd() ? 4 : 5, 2}, DType::f32), good),
                              {who(), "output has shape [4, 2]"});
        same_error_everywhere(into(Tensor::zeros({5, 2}, odd() ? DType::f64 : DType::f32), good),
                              {who(), "output has dtype float64"});
        same_error_everywhere(into(Tensor{}, good), {"output is an undefined"});
        same_error_everywhere(into(Tensor::zeros({5, 1}, DType::f32).expand({5, 2}), good),
                              {"output overlaps itself"});
        const Tensor around = Tensor::zeros({5, 2}, DType::f32);
        same_error_everywhere(into(around, around.narrow(0, 1, 3)), {"output overlaps x"});
        check_usable(group);
    }
}

TEST_CASE("halo exchange: one rank deviates in one argument") {
    if (ranks() == 1) {
        return;
    }
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor good = Tensor::zeros({3, 3}, DType::f32);
    for (const HaloImpl impl : kImpls) {
        const HaloImpl other = impl == HaloImpl::p2p ? HaloImpl::collective : HaloImpl::p2p;
        const auto deviating = [&](const char* what, const Tensor& x, std::int64_t left, std::int64_t right,
                                   int dim, HaloImpl choice) {
            CAPTURE(what);
            same_error_everywhere(
                [&] {
                    if (odd()) {
                        cp_halo_exchange(x, left, right, dim, group, choice);
                    } else {
                        cp_halo_exchange(good, 1, 2, 0, group, impl);
                    }
                },
                {what, who(), "group 'global'", "cp_halo_exchange"});
            check_usable(group);
        };
        deviating("left is", good, 2, 2, 0, impl);
        deviating("right is", good, 1, 1, 0, impl);
        deviating("dim is", good, 1, 2, 1, impl);
        deviating("impl is", good, 1, 2, 0, other);
        deviating("dtype is", Tensor::zeros({3, 3}, DType::i32), 1, 2, 0, impl);
        deviating("extents but that of dim", Tensor::zeros({3, 4}, DType::f32), 1, 2, 0, impl);
        deviating("extents but that of dim", Tensor::zeros({3}, DType::f32), 1, 2, 0, impl);

        // Not deviating: another extent along dim, the same dim spelt in another way.
        const Tensor longer = Tensor::zeros({5, 3}, DType::f32);
        const Tensor out = cp_halo_exchange(odd() ? longer : good, 1, 2, odd() ? -2 : 0, group, impl);
        CHECK(out.extent(0) == (odd() ? 8 : 6));
    }
    same_error_everywhere(
        [&] {
            if (odd()) {
                cp_halo_exchange_backward(good, 1, 1, 0, group);
            } else {
                cp_halo_exchange(good, 1, 1, 0, group);
            }
        },
        {"operation", who()});
    check_usable(group);
}

TEST_CASE("halo exchange backward: wrong arguments are the same error everywhere") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor good = Tensor::zeros({5, 2}, DType::f32);
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    for (const HaloImpl impl : kImpls) {
        const auto backward = [&](const Tensor& gradient, std::int64_t left, std::int64_t right, int dim) {
            return [&group, gradient, left, right, dim, impl] {
                cp_halo_exchange_backward(gradient, left, right, dim, group, impl);
            };
        };
        same_error_everywhere(backward(odd() ? Tensor{} : good, 1, 1, 0), {who(), "grad_output is an und"});
        same_error_everywhere(backward(odd() ? Tensor::zeros({5, 2}, DType::boolean) : good, 0, 0, 0),
                              {who(), "grad_output has dtype bool"});
        same_error_everywhere(backward(good, -1, 0, 0), {"left is -1"});
        same_error_everywhere(backward(good, 0, -2, 0), {"right is -2"});
        same_error_everywhere(backward(good, 1, 1, 2), {"dim", "2"});
        same_error_everywhere(backward(good, 1, 1, 1), {"extent 2 along dim 1", "leaves 0"});
        same_error_everywhere(backward(good, 3, 0, 0), {"extent 5 along dim 0", "leaves 2", "left 3"});
        same_error_everywhere(backward(good, 0, 3, 0), {"extent 5 along dim 0", "leaves 2", "right 3"});
        same_error_everywhere(backward(good, 5, 5, 0), {"extent 5 along dim 0", "leaves -5"});
        same_error_everywhere(backward(good, kMost, kMost, 0), {"left is", "extent along dim 0 is 5"});
        same_error_everywhere(backward(odd() ? Tensor::zeros({2, 2}, DType::f32) : good, 1, 1, 0),
                              {who(), "extent 2 along dim 0"});
        const Tensor given = Tensor::zeros({odd() ? 2 : 3, 2}, DType::f32);
        same_error_everywhere([&] { cp_halo_exchange_backward(given, good, 1, 1, 0, group, impl); },
                              {who(), "grad_input has shape [2, 2]"});
        same_error_everywhere(
            [&] { cp_halo_exchange_backward(good.narrow(0, 1, 3), good, 1, 1, 0, group, impl); },
            {"grad_input overlaps grad_output"});
        check_usable(group);
    }
    if (ranks() == 1) {
        return;
    }
    same_error_everywhere([&] { cp_halo_exchange_backward(good, odd() ? 2 : 1, 1, 0, group); },
                          {"left is", who()});
    same_error_everywhere([&] { cp_halo_exchange_backward(good, 1, odd() ? 0 : 1, 0, group); },
                          {"right is", who()});
    same_error_everywhere([&] { cp_halo_exchange_backward(good, 0, 0, odd() ? 1 : 0, group); },
                          {"dim is", who()});
    same_error_everywhere(
        [&] {
            cp_halo_exchange_backward(good, 1, 1, 0, group, odd() ? HaloImpl::p2p : HaloImpl::collective);
        },
        {"impl is", who()});
    same_error_everywhere(
        [&] {
            cp_halo_exchange_backward(odd() ? Tensor::zeros({5, 2}, DType::f16) : good, 1, 1, 0, group);
        },
        {"dtype is", who()});
    same_error_everywhere(
        [&] {
            cp_halo_exchange_backward(odd() ? Tensor::zeros({5, 3}, DType::f32) : good, 1, 1, 0, group);
        },
        {"extents but that of dim", who()});
    check_usable(group);
}

TEST_CASE("halo implementation: a process-wide choice, which each call may override") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const HaloImpl before = get_cp_halo_impl();
    const Tensor x = Tensor::zeros({2}, DType::f32);
    for (const HaloImpl impl : kImpls) {
        set_cp_halo_impl(impl);
        CHECK(get_cp_halo_impl() == impl);
        check_usable(group);
    }
    if (ranks() > 1) {
        set_cp_halo_impl(odd() ? HaloImpl::p2p : HaloImpl::collective);
        same_error_everywhere([&] { cp_halo_exchange(x, 1, 0, 0, group); },
                              {"impl is", "p2p on " + who(), "collective on"});
        same_error_everywhere([&] { cp_halo_exchange_async(x, 1, 0, 0, group).wait(); }, {"impl is"});
        same_error_everywhere([&] { cp_halo_exchange_backward(x, 1, 0, 0, group); }, {"impl is"});
        CHECK(cp_halo_exchange(x, 1, 0, 0, group, HaloImpl::p2p).extent(0) == 3);
    }
    set_cp_halo_impl(before);
    for (const HaloImpl impl : kImpls) {
        CHECK(halo_impl_from_name(name(impl)) == impl);
    }
    CHECK_THROWS_AS((void)halo_impl_from_name("nccl"), ArgumentError);
}
