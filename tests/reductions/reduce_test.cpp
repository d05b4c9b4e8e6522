#include <doctest/doctest.h>

#include <string>

#include <plumb/comm/reduce.h>

#include "reductions/calls.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// What rank `here` must have after a reduce to `root`: the result, or its own input.
Bytes wanted_of(const Shape& shape, DType dtype, ReduceOp op, int root) {
    const std::int64_t count = element_count(shape);
    return rank() == root ? reduced_small_values(dtype, op, ranks(), 0, count)
                          : small_values(dtype, rank(), count);
}

void check_reduce(const Shape& shape, DType dtype, ReduceOp op, Arrangement arrangement, int root,
                  const Group& group) {
    const Arranged given = arrange(small_tensor(shape, dtype, rank()), arrangement);
    const Tensor result = reduce(given.tensor, GlobalRank(root), op, group);
    CHECK(result.view().data == given.tensor.view().data);
    CHECK(result.strides() == given.tensor.strides());
    const bool right = bytes_of(given.tensor) == wanted_of(shape, dtype, op, root);
    CHECK(right);
    CHECK(only_elements_written(given));
}

}  // namespace

TEST_CASE("reduce: every dtype and operator, every root, on every path") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        int root = 0;
        for (const DType dtype : kAllDTypes) {
            for (const ReduceOp op : operators_of(dtype)) {
                CAPTURE(path.name);
                CAPTURE(name(dtype));
                CAPTURE(name(op));
                CAPTURE(root);
                check_reduce({3, 7}, dtype, op, Arrangement::sliced, root, group);
                root = (root + 1) % ranks();
            }
        }
    }
}

TEST_CASE("reduce: every shape and arrangement, on every path") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        int root = 0;
        for (const Shape& shape : shapes()) {
            if (path.count_limit < 100 && element_count(shape) > 1000) continue;
            for (const Arrangement arrangement : kArrangements) {
                for (const DType dtype : {DType::u8, DType::f16, DType::c64}) {
                    CAPTURE(path.name);
                    CAPTURE(to_string(shape));
                    CAPTURE(static_cast<int>(arrangement));
                    CAPTURE(name(dtype));
                    CAPTURE(root);
                    check_reduce(shape, dtype, ReduceOp::sum, arrangement, root, group);
                    root = (root + 1) % ranks();
                }
            }
        }
    }
}

TEST_CASE("reduce: other ranks' tensors may overlap themselves") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        CAPTURE(path.name);
        const Tensor own = Tensor::of<std::int32_t>({1}, {rank() + 1});
        const Tensor tensor =
            rank() == 0 ? Tensor::of<std::int32_t>({4}, {1, 10, 100, 1000}) : own.expand({4});
        reduce(tensor, GroupRank(0), ReduceOp::sum, group);
        const int others = ranks() * (ranks() + 1) / 2 - 1;  // 2 + 3 + …
        if (rank() == 0) {
            CHECK(tensor.to_vector<std::int32_t>() ==
                  std::vector<std::int32_t>{1 + others, 10 + others, 100 + others, 1000 + others});
        } else {
            CHECK(own.data<std::int32_t>()[0] == rank() + 1);
        }
    }
}

TEST_CASE("reduce: outside the group") {
    const Tensor tensor = small_tensor({4}, DType::f32, rank());
    CHECK_FALSE(reduce(tensor, GroupRank(7), ReduceOp::sum, outside_group()).defined());
    const Tensor result = result_outside_group(
        [&](const Group& group) { return reduce_async(tensor, GroupRank(0), ReduceOp::sum, group); });
    CHECK_FALSE(result.defined());
    CHECK((bytes_of(tensor) == small_values(DType::f32, rank(), 4)));
}

TEST_CASE("reduce: asynchronous") {
    const OnPath on({"short", 256, kMostCount});
    for (const std::int64_t count : {3, 1000}) {
        CAPTURE(count);
        const int root = ranks() - 1;
        const auto start = [=](const Group& group) {
            return reduce_async(small_tensor({count}, DType::f16, rank()), GroupRank(root), ReduceOp::sum,
                                group);
        };
        const auto blocking = [=](const Group& group) {
            return reduce(small_tensor({count}, DType::f16, rank()), GroupRank(root), ReduceOp::sum, group);
        };
        const auto check = [=](const Group&, const Tensor& result) {
            const bool right = bytes_of(result) == wanted_of({count}, DType::f16, ReduceOp::sum, root);
            CHECK(right);
        };
        check_async_contract(start, check);
        check_blocking_meets_async(blocking, start, check);
        const std::string text = check_async_error(
            [](const Group& group) { return reduce_async(Tensor(), GroupRank(0), ReduceOp::sum, group); },
            start, check);
        CHECK(text.find("tensor is an undefined tensor") != std::string::npos);
    }
}

TEST_CASE("reduce: one rank's call is wrong") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int odd = ranks() - 1;
    const bool here = rank() == odd;
    const std::string who = "rank " + std::to_string(odd);
    const Tensor good = small_tensor({2, 3}, DType::f32, rank());
    const Root last = GroupRank(odd);
    const auto wrong = [&](const Tensor& tensor, Root dst, ReduceOp op,
                           std::initializer_list<std::string_view> parts) {
        same_error_everywhere(
            [&] { reduce(here ? tensor : good, here ? dst : last, here ? op : ReduceOp::sum, group); },
            parts);
        CHECK((bytes_of(good) == small_values(DType::f32, rank(), 6)));
        check_reduce({2, 3}, DType::f32, ReduceOp::sum, Arrangement::contiguous, odd, group);
    };
    wrong({}, last, ReduceOp::sum, {who + ": tensor is an undefined tensor"});
    wrong(Tensor::zeros({1}, DType::f32).expand({4}), last, ReduceOp::sum,
          {who + ": tensor overlaps itself"});
    wrong(good, last, ReduceOp::bor, {who + ": reduce is BOR, which is not defined for float32"});
    wrong(
        good, GroupRank(ranks()), ReduceOp::sum,
        {who + ": dst is group rank " + std::to_string(ranks()) + ", allowed is 0 … " + std::to_string(odd)});
    wrong(good, GroupRank(-1), ReduceOp::sum, {who + ": dst is group rank -1"});
    wrong(good, GlobalRank(1000), ReduceOp::sum,
          {who + ": dst is global rank 1000, which is not in the group"});
    if (ranks() == 1) return;
    wrong(small_tensor({2, 3}, DType::bf16, rank()), last, ReduceOp::sum,
          {"tensor dtype is", "bfloat16 on " + who});
    wrong(small_tensor({6}, DType::f32, rank()), last, ReduceOp::sum, {"tensor shape is", "[6] on " + who});
    wrong(good, last, ReduceOp::product, {"reduce is SUM on", "PRODUCT on " + who});
    wrong(good, GroupRank(0), ReduceOp::sum, {"dst is " + std::to_string(odd) + " on", "0 on " + who});
}
