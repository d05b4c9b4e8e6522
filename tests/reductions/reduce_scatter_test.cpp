#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <plumb/comm/all_reduce.h>
#include <plumb/comm/reduce_scatter.h>

#include "reductions/calls.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

Shape input_shape(const Shape& output) {
    return output.with(0, output[0] * ranks());
}

Bytes wanted_of(const Shape& output, DType dtype, ReduceOp op) {
    const std::int64_t count = element_count(output);
    return reduced_small_values(dtype, op, ranks(), rank() * count, count);
}

void check_reduce_scatter(const Shape& shape, DType dtype, ReduceOp op, Arrangement arrangement,
                          const Group& group) {
    const Shape whole = input_shape(shape);
    const Arranged input = arrange(small_tensor(whole, dtype, rank()), arrangement);
    const Bytes before = bytes_of(input.surroundings);

    const Tensor fresh = reduce_scatter(input.tensor, op, group);
    REQUIRE(fresh.shape() == shape);
    CHECK(fresh.dtype() == dtype);
    CHECK(fresh.is_contiguous());
    CHECK_FALSE(fresh.shares_storage_with(input.tensor));
    CHECK((bytes_of(fresh) == wanted_of(shape, dtype, op)));

    const Arranged output = arrange(Tensor::zeros(shape, dtype), arrangement);
    const Tensor result = reduce_scatter(output.tensor, input.tensor, op, group);
    CHECK(result.view().data == output.tensor.view().data);
    CHECK((bytes_of(output.tensor) == wanted_of(shape, dtype, op)));
    CHECK(only_elements_written(output));
    CHECK((bytes_of(input.surroundings) == before));
}

}  // namespace

TEST_CASE("reduce_scatter: every dtype and operator") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : {kPaths[0], kPaths[3]}) {
        const OnPath on(path);
        for (const DType dtype : kAllDTypes) {
            for (const ReduceOp op : operators_of(dtype)) {
                CAPTURE(path.name);
                CAPTURE(name(dtype));
                CAPTURE(name(op));
                check_reduce_scatter({3, 5}, dtype, op, Arrangement::transposed, group);
            }
        }
    }
}

TEST_CASE("reduce_scatter: every shape and arrangement") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : {kPaths[0], kPaths[3]}) {
        const OnPath on(path);
        for (const Shape& shape : shapes()) {
            if (shape.ndim() == 0 || (path.count_limit < 100 && element_count(shape) > 1000)) continue;
            for (const Arrangement arrangement : kArrangements) {
                for (const DType dtype : {DType::boolean, DType::i64, DType::f8_e4m3fn, DType::c128}) {
                    CAPTURE(path.name);
                    CAPTURE(to_string(shape));
                    CAPTURE(static_cast<int>(arrangement));
                    CAPTURE(name(dtype));
                    check_reduce_scatter(shape, dtype, operators_of(dtype).front(), arrangement, group);
                }
            }
        }
    }
}

TEST_CASE("reduce_scatter: inputs of stride 0") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor row = Tensor::of<std::int32_t>({1, 2}, {rank() + 1, 10 * (rank() + 1)});
    const Tensor result = reduce_scatter(row.expand({3 * ranks(), 2}), ReduceOp::sum, group);
    const int sum = ranks() * (ranks() + 1) / 2;
    CHECK(result.to_vector<std::int32_t>() ==
          std::vector<std::int32_t>{sum, 10 * sum, sum, 10 * sum, sum, 10 * sum});
}

TEST_CASE("reduce_scatter: the bits of all_reduce, whatever the input") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t count = 101;
    for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : operators_of(dtype)) {
            CAPTURE(name(dtype));
            CAPTURE(name(op));
            Sequence sequence;
            for (int skip = 0; skip < 1000 * rank(); ++skip)
                (void)sequence.next();
            Bytes input(static_cast<std::size_t>(count * ranks()) * size_of(dtype));
            for (std::byte& each : input)
                each = static_cast<std::byte>(sequence.next() & 0xFFU);
            const Shape whole{count * ranks()};
            const Bytes part = bytes_of(reduce_scatter(tensor_of(whole, dtype, input), op, group));
            const Tensor all = all_reduce(tensor_of(whole, dtype, input), op, group);
            CHECK((part == bytes_of(all.narrow(0, rank() * count, count))));
        }
    }
}

TEST_CASE("reduce_scatter: outside the group") {
    const Tensor input = small_tensor({5}, DType::f32, rank());
    const Tensor output = small_tensor({1}, DType::f32, rank());
    CHECK_FALSE(reduce_scatter(input, ReduceOp::sum, outside_group()).defined());
    CHECK_FALSE(reduce_scatter(output, input, ReduceOp::sum, outside_group()).defined());
    CHECK((bytes_of(output) == small_values(DType::f32, rank(), 1)));
    const Tensor result = result_outside_group(
        [&](const Group& group) { return reduce_scatter_async(input, ReduceOp::sum, group); });
    CHECK_FALSE(result.defined());
}

TEST_CASE("reduce_scatter: asynchronous") {
    const Shape shape{3, 4};
    const auto start = [&](const Group& group) {
        return reduce_scatter_async(small_tensor(input_shape(shape), DType::bf16, rank()), ReduceOp::sum,
                                    group);
    };
    const auto start_into = [&](const Group& group) {
        const Arranged output = arrange(Tensor::zeros(shape, DType::bf16), Arrangement::sliced);
        return reduce_scatter_async(output.tensor, small_tensor(input_shape(shape), DType::bf16, rank()),
                                    ReduceOp::sum, group);
    };
    const auto blocking = [&](const Group& group) {
        return reduce_scatter(small_tensor(input_shape(shape), DType::bf16, rank()), ReduceOp::sum, group);
    };
    const auto check = [&](const Group&, const Tensor& result) {
        REQUIRE(result.shape() == shape);
        CHECK((bytes_of(result) == wanted_of(shape, DType::bf16, ReduceOp::sum)));
    };
    check_async_contract(start, check);
    check_async_contract(start_into, check);
    check_blocking_meets_async(blocking, start, check);
    const std::string text = check_async_error(
        [](const Group& group) {
            return reduce_scatter_async(Tensor::zeros({}, DType::f32), ReduceOp::sum, group);
        },
        start, check);
    CHECK(text.find("input has shape []") != std::string::npos);
}

TEST_CASE("reduce_scatter: one rank's call is wrong") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int odd = ranks() - 1;
    const bool here = rank() == odd;
    const std::string who = "rank " + std::to_string(odd);
    const std::int64_t n = ranks();
    const Tensor good = small_tensor({2 * n, 3}, DType::f32, rank());
    const auto still_works = [&] {
        check_reduce_scatter({2, 3}, DType::f32, ReduceOp::sum, Arrangement::contiguous, group);
    };
    const auto wrong = [&](const Tensor& input, ReduceOp op, std::initializer_list<std::string_view> parts) {
        same_error_everywhere([&] { reduce_scatter(here ? input : good, here ? op : ReduceOp::sum, group); },
                              parts);
        still_works();
    };
    wrong({}, ReduceOp::sum, {who + ": input is an undefined tensor"});
    wrong(Tensor::zeros({}, DType::f32), ReduceOp::sum,
          {who + ": input has shape [], allowed are tensors of at least one dimension"});
    wrong(good, ReduceOp::bxor, {who + ": reduce is BXOR, which is not defined for float32"});
    if (ranks() > 1) {
        wrong(small_tensor({2 * n + 1, 3}, DType::f32, rank()), ReduceOp::sum,
              {who + ": input has shape [" + std::to_string(2 * n + 1) +
               ", 3], allowed along dim 0 are multiples of " + std::to_string(n)});
        wrong(small_tensor({2 * n, 3}, DType::i32, rank()), ReduceOp::sum,
              {"input dtype is float32 on", "int32 on " + who});
        wrong(small_tensor({2 * n, 4}, DType::f32, rank()), ReduceOp::sum,
              {"input shape is", ", 4] on " + who});
        wrong(good, ReduceOp::min, {"reduce is SUM on", "MIN on " + who});
    }

    const auto wrong_output = [&](const Tensor& output, std::initializer_list<std::string_view> parts) {
        const Tensor fine = Tensor::zeros({2, 3}, DType::f32);
        const Bytes before = output.defined() ? bytes_of(output) : Bytes{};
        same_error_everywhere([&] { reduce_scatter(here ? output : fine, good, ReduceOp::sum, group); },
                              parts);
        CHECK((bytes_of(fine) == Bytes(24)));
        if (output.defined()) CHECK((bytes_of(output) == before));
        still_works();
    };
    wrong_output({}, {who + ": output is an undefined tensor"});
    wrong_output(Tensor::zeros({3, 2}, DType::f32), {who + ": output has shape [3, 2], allowed is [2, 3]"});
    wrong_output(Tensor::zeros({2, 3}, DType::f64), {who + ": output has dtype float64, allowed is float32"});
    wrong_output(Tensor::zeros({1, 3}, DType::f32).expand({2, 3}), {who + ": output overlaps itself"});
    wrong_output(good.narrow(0, 0, 2), {who + ": output overlaps input"});
}
