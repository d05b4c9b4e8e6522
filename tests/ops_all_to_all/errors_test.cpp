#include <doctest/doctest.h>

#include "ops_all_to_all/all_to_all_cases.h"
#include "support/async_contract.h"

#include <plumb/comm/all_gather.h>

using namespace plumb;
using namespace plumb::test;

namespace {

/// The last rank deviates.
bool odd_one() {
    return rank() == ranks() - 1;
}

void check_usable(const Group& group) {
    const Tensor x = Tensor::of<float>(
        {ranks(), 1}, std::vector<float>(static_cast<std::size_t>(ranks()), static_cast<float>(rank())));
    const auto y = all_to_all(x, 1, 0, group).to_vector<float>();
    for (int r = 0; r < ranks(); ++r) {
        CHECK(y[static_cast<std::size_t>(r)] == static_cast<float>(r));
    }
}

}  // namespace

TEST_CASE("all_to_all: calls that are wrong on every rank") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t n = ranks();
    const Tensor x = Tensor::zeros({n, n}, DType::f32);
    same_error_everywhere([&] { all_to_all(x, 1, 1, group); }, {"gather_dim and scatter_dim are both 1"});
    same_error_everywhere([&] { all_to_all(x, -1, 0, group); },
                          {"gather_dim is -1", "allowed is 0 … 1", "negative"});
    same_error_everywhere([&] { all_to_all(x, 0, -1, group); }, {"scatter_dim is -1"});
    same_error_everywhere([&] { all_to_all(x, 2, 0, group); }, {"gather_dim is 2"});
    same_error_everywhere([&] { all_to_all(x, 0, 2, group); }, {"scatter_dim is 2"});
    same_error_everywhere([&] { all_to_all(Tensor{}, 0, 1, group); }, {"input is an undefined tensor"});
    if (n > 1) {
        same_error_everywhere(
            [&] {
                all_to_all(Tensor::zeros({n + 1, n}, DType::f32), 1, 0, group);
            },
            {"scatter_dim 0", "extent " + std::to_string(n + 1), "group size " + std::to_string(n)});
        same_error_everywhere(
            [&] {
                all_to_all_backward(Tensor::zeros({n, n + 1}, DType::f32), 1, 0, group);
            },
            {"all_to_all_backward", "gather_dim 1 of grad_output", "extent " + std::to_string(n + 1)});
    }
    check_usable(group);
}

TEST_CASE("all_to_all: one rank deviates in one argument") {
    if (ranks() == 1) {
        return;
    }
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t n = ranks();
    const Tensor x = Tensor::zeros({n, n, n}, DType::f32);
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const auto deviating = [&](const char* what, auto&& call) {
        CAPTURE(what);
        const std::string text = same_error_everywhere(call, {what, who, "group 'global'"});
        check_usable(group);
    };
    deviating("input shape", [&] {
        all_to_all(odd_one() ? Tensor::zeros({n, n, 2 * n}, DType::f32) : x, 0, 1, group);
    });
    deviating("input shape", [&] {
        all_to_all(odd_one() ? Tensor::zeros({n, n}, DType::f32) : x, 0, 1, group);
    });
    deviating("input dtype", [&] {
        all_to_all(odd_one() ? Tensor::zeros({n, n, n}, DType::i32) : x, 0, 1, group);
    });
    deviating("gather_dim", [&] { all_to_all(x, odd_one() ? 2 : 0, 1, group); });
    deviating("scatter_dim", [&] { all_to_all(x, 0, odd_one() ? 2 : 1, group); });
    deviating("undefined", [&] { all_to_all(odd_one() ? Tensor{} : x, 0, 1, group); });
    deviating("extent", [&] {
        all_to_all(odd_one() ? Tensor::zeros({n, n + 1, n}, DType::f32) : x, 0, 1, group);
    });
    deviating("all_to_all_backward", [&] {
        if (odd_one()) {
            all_to_all_backward(x, 0, 1, group);
        } else {
            all_to_all(x, 0, 1, group);
        }
    });
    deviating("all_gather", [&] {
        if (odd_one()) {
            all_gather(x, group);
        } else {
            all_to_all(x, 0, 1, group);
        }
    });
}

TEST_CASE("all_to_all into a wrong output: an agreed error, and nothing is written") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t n = ranks();
    const Tensor x = Tensor::zeros({n, n}, DType::f32);
    const std::vector<float> sevens(static_cast<std::size_t>(n * n), 7.0F);
    const auto refused = [&](const Tensor& wrong, std::initializer_list<std::string_view> parts) {
        const Tensor good = Tensor::of<float>({1, n * n}, sevens);
        same_error_everywhere([&] { all_to_all(odd_one() ? wrong : good, x, 1, 0, group); }, parts);
        CHECK(good.to_vector<float>() == sevens);
    };
    refused(Tensor::zeros({n * n}, DType::f32),
            {"output has shape", "allowed is [1, " + std::to_string(n * n) + "]"});
    refused(Tensor::zeros({1, n * n}, DType::f64), {"output has dtype float64, allowed is float32"});
    refused(Tensor{}, {"output is an undefined tensor"});
    refused(x.reshape({1, n * n}), {"output overlaps input"});
    if (n > 1) {
        refused(Tensor::zeros({1, 1}, DType::f32).expand({1, n * n}), {"output overlaps itself"});
    }
    const Tensor grad_input = Tensor::zeros({n, n + 1}, DType::f32);
    same_error_everywhere(
        [&] {
            all_to_all_backward(grad_input, Tensor::zeros({1, n * n}, DType::f32), 1, 0, group);
        },
        {"grad_input has shape"});
    check_usable(group);
}

TEST_CASE("all_to_all: memory that runs out on one rank is everybody's error") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor x = Tensor::zeros({64 * ranks(), 16}, DType::f32);
    const auto unlimited = allocation_limit();
    if (odd_one()) {
        set_allocation_limit(128);
    }
    same_error_everywhere([&] { all_to_all(x, 1, 0, group); },
                          {"rank " + std::to_string(ranks() - 1) + ": out of memory"});
    set_allocation_limit(unlimited);
    check_usable(group);
}

TEST_CASE("all_to_all at CheckLevel::local throws here and now") {
    const CommContext context(MPI_COMM_WORLD, flat_mesh(), CheckLevel::local);
    const Group& group = context.group(ParallelMode::global);
    const Tensor x = Tensor::zeros({ranks(), ranks()}, DType::f32);
    CHECK_THROWS_AS(all_to_all(x, 0, 0, group), ArgumentError);
    check_usable(group);
}
