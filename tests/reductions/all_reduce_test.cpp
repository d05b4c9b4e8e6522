#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <plumb/comm/all_reduce.h>
#include <plumb/comm/all_reduce_dict.h>
#include <plumb/comm/reduce.h>
#include <plumb/comm/reduce_scatter.h>

#include "reductions/calls.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// The tensor that reduces on all ranks to reduced_small_values.
void check_all_reduce(const Shape& shape, DType dtype, ReduceOp op, Arrangement arrangement,
                      const Group& group) {
    const Arranged given = arrange(small_tensor(shape, dtype, rank()), arrangement);
    const Tensor result = all_reduce(given.tensor, op, group);
    CHECK(result.view().data == given.tensor.view().data);
    CHECK(result.strides() == given.tensor.strides());
    const Bytes got = bytes_of(given.tensor);
    const bool right = got == reduced_small_values(dtype, op, ranks(), 0, element_count(shape));
    CHECK(right);
    CHECK(same_on_all_ranks(got));
    CHECK(only_elements_written(given));
}

template <class T>
T reduced_one(ReduceOp op, const std::vector<T>& per_rank, const Group& group) {
    const Tensor tensor = Tensor::of<T>({1}, {per_rank[static_cast<std::size_t>(rank())]});
    return all_reduce(tensor, op, group).template data<T>()[0];
}

}  // namespace

TEST_CASE("all_reduce: every dtype and operator, on every path") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        for (const DType dtype : kAllDTypes) {
            for (const ReduceOp op : operators_of(dtype)) {
                CAPTURE(path.name);
                CAPTURE(name(dtype));
                CAPTURE(name(op));
                check_all_reduce({3, 7}, dtype, op, Arrangement::transposed, group);
            }
        }
    }
}

TEST_CASE("all_reduce: every shape and arrangement, on every path") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        for (const Shape& shape : shapes()) {
            if (path.count_limit < 100 && element_count(shape) > 1000) continue;
            for (const Arrangement arrangement : kArrangements) {
                for (const DType dtype : {DType::i16, DType::bf16, DType::c128}) {
                    CAPTURE(path.name);
                    CAPTURE(to_string(shape));
                    CAPTURE(static_cast<int>(arrangement));
                    CAPTURE(name(dtype));
                    check_all_reduce(shape, dtype, ReduceOp::sum, arrangement, group);
                }
            }
        }
    }
}

TEST_CASE("all_reduce: in rank order, accumulated as documented") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const auto n = static_cast<std::size_t>(ranks()) - 1;
    for (const Path& path : kPaths) {
        const OnPath on(path);
        CAPTURE(path.name);
        CHECK(reduced_one<float>(ReduceOp::sum, {1e8F, 1, -1e8F, 1}, group) ==
              std::vector<float>{1e8F, 1e8F, 0, 1}[n]);
        CHECK(reduced_one<double>(ReduceOp::sum, {1e17, 1, -1e17, 1}, group) ==
              std::vector<double>{1e17, 1e17, 0, 1}[n]);
        CHECK(reduced_one<std::int8_t>(ReduceOp::sum, {127, 1, 127, 2}, group) ==
              std::vector<std::int8_t>{127, -128, -1, 1}[n]);
        CHECK(std::isnan(reduced_one<float>(ReduceOp::max, {std::nanf(""), 1, 2, 3}, group)));
        CHECK(std::signbit(reduced_one<float>(ReduceOp::min, {-0.0F, 0.0F, 0.0F, 0.0F}, group)));
        CHECK(reduced_one<float>(ReduceOp::avg, {1, 0, 0, 0}, group) == 1.0F / static_cast<float>(ranks()));
        // bf16: 256 + 1 + 1 + 1, each of which a step-wise sum would lose.
        Bytes one;
        append_real(one, DType::bf16, rank() == 0 ? 256 : 1);
        Bytes wanted;
        append_real(wanted, DType::bf16, std::vector<double>{256, 256, 258, 260}[n]);
        const bool right =
            bytes_of(all_reduce(tensor_of({1}, DType::bf16, one), ReduceOp::sum, group)) == wanted;
        CHECK(right);
    }
}

TEST_CASE("all_reduce: random bits give the same bits on every path and every rank, and so does reduce") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : operators_of(dtype)) {
            CAPTURE(name(dtype));
            CAPTURE(name(op));
            Sequence sequence;
            Bytes input(501 * size_of(dtype));
            for (int skip = 0; skip < 1000 * rank(); ++skip)
                (void)sequence.next();
            for (std::byte& each : input)
                each = static_cast<std::byte>(sequence.next() & 0xFFU);
            Bytes first;
            for (const Path& path : kPaths) {
                const OnPath on(path);
                CAPTURE(path.name);
                const Bytes result = bytes_of(all_reduce(tensor_of({501}, dtype, input), op, group));
                if (first.empty()) first = result;
                CHECK((result == first));
                const GroupRank last(ranks() - 1);
                const Bytes rooted = bytes_of(reduce(tensor_of({501}, dtype, input), last, op, group));
                CHECK((rooted == (rank() == last.value ? first : input)));
            }
            CHECK(same_on_all_ranks(first));
        }
    }
}

TEST_CASE("all reductions, without agreement") {
    for (const CheckLevel level : {CheckLevel::local, CheckLevel::off}) {
        const CommContext context(MPI_COMM_WORLD, flat_mesh(), level);
        const Group& group = context.group(ParallelMode::global);
        const int last = ranks() - 1;
        for (const Path& path : kPaths) {
            const OnPath on(path);
            check_all_reduce({3, 7}, DType::f16, ReduceOp::avg, Arrangement::sliced, group);
            const Tensor whole = small_tensor({2 * ranks()}, DType::i8, rank());
            CHECK((bytes_of(reduce_scatter(whole, ReduceOp::max, group)) ==
                   reduced_small_values(DType::i8, ReduceOp::max, ranks(), 2 * rank(), 2)));
            const Tensor rooted = reduce(whole, GroupRank(last), ReduceOp::sum, group);
            CHECK((bytes_of(rooted) ==
                   (rank() == last ? reduced_small_values(DType::i8, ReduceOp::sum, ranks(), 0, 2 * ranks())
                                   : small_values(DType::i8, rank(), 2 * ranks()))));
            CHECK((all_reduce_dict({{"x", 1}, {"y", 2}}, group) == Dict{{"x", ranks()}, {"y", 2 * ranks()}}));
        }
        CHECK_THROWS_AS(all_reduce(Tensor(), ReduceOp::sum, group), ArgumentError);
    }
}

TEST_CASE("all_reduce: in groups of a mesh, and ranks outside") {
    const auto context = agreeing_context();
    const Tensor tensor = small_tensor({4}, DType::f32, rank());
    const Tensor outside = all_reduce(tensor, ReduceOp::sum, outside_group());
    CHECK_FALSE(outside.defined());
    CHECK((bytes_of(tensor) == small_values(DType::f32, rank(), 4)));
    const Tensor result = result_outside_group(
        [&](const Group& group) { return all_reduce_async(tensor, ReduceOp::sum, group); });
    CHECK_FALSE(result.defined());
    CHECK((bytes_of(tensor) == small_values(DType::f32, rank(), 4)));

    if (ranks() < 2) return;
    // The last two ranks, in reverse order: the order of the group counts.
    CommContext other(MPI_COMM_WORLD, flat_mesh(), CheckLevel::agree);
    const std::vector<GlobalRank> pair = {GlobalRank(ranks() - 1), GlobalRank(ranks() - 2)};
    const Group& group = other.init_group("pair", pair);
    const bool member = rank() >= ranks() - 2;
    const Tensor one = Tensor::of<double>({1}, {static_cast<double>(rank() + 1)});
    CHECK(all_reduce(one, ReduceOp::sum, group).defined() == member);
    CHECK(one.data<double>()[0] == (member ? 2 * ranks() - 1 : rank() + 1));
}

TEST_CASE("all_reduce: asynchronous") {
    // Shared on more than two ranks, gathered on others.
    const Path path{"short", 256, kMostCount};
    const OnPath on(path);
    for (const std::int64_t count : {3, 1000}) {
        CAPTURE(count);
        const auto start = [count](const Group& group) {
            return all_reduce_async(small_tensor({count}, DType::f32, rank()), ReduceOp::avg, group);
        };
        const auto blocking = [count](const Group& group) {
            return all_reduce(small_tensor({count}, DType::f32, rank()), ReduceOp::avg, group);
        };
        const auto check = [count](const Group&, const Tensor& result) {
            REQUIRE(result.shape() == Shape{count});
            const bool right =
                bytes_of(result) == reduced_small_values(DType::f32, ReduceOp::avg, ranks(), 0, count);
            CHECK(right);
        };
        check_async_contract(start, check);
        check_blocking_meets_async(blocking, start, check);
        const std::string text = check_async_error(
            [](const Group& group) { return all_reduce_async(Tensor(), ReduceOp::sum, group); }, start,
            check);
        CHECK(text.find("tensor is an undefined tensor") != std::string::npos);
    }
}

TEST_CASE("all_reduce: operators that are not defined for the dtype") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const DType dtype : kAllDTypes) {
        for (const ReduceOp op : kAllReduceOps) {
            if (has_operator(dtype, op)) continue;
            const Tensor tensor = small_tensor({2}, dtype, rank());
            const std::string part = "reduce is " + std::string(name(op)) + ", which is not defined for " +
                                     std::string(name(dtype)) + ", allowed are ";
            same_error_everywhere([&] { all_reduce(tensor, op, group); }, {"all_reduce", part});
            CHECK((bytes_of(tensor) == small_values(dtype, rank(), 2)));
        }
    }
    check_all_reduce({5}, DType::c64, ReduceOp::sum, Arrangement::contiguous, group);
}

TEST_CASE("all_reduce: one rank's call is wrong") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int odd = ranks() - 1;
    const bool here = rank() == odd;
    const std::string who = "rank " + std::to_string(odd);
    const Tensor good = small_tensor({2, 3}, DType::f32, rank());
    const auto wrong = [&](const Tensor& tensor, ReduceOp op, std::initializer_list<std::string_view> parts) {
        same_error_everywhere([&] { all_reduce(here ? tensor : good, here ? op : ReduceOp::sum, group); },
                              parts);
        CHECK((bytes_of(good) == small_values(DType::f32, rank(), 6)));
        check_all_reduce({2, 3}, DType::f32, ReduceOp::sum, Arrangement::contiguous, group);
    };
    wrong({}, ReduceOp::sum, {who + ": tensor is an undefined tensor"});
    wrong(Tensor::zeros({1}, DType::f32).expand({4}), ReduceOp::sum, {who + ": tensor overlaps itself"});
    wrong(good, ReduceOp::band, {who + ": reduce is BAND, which is not defined for float32"});
    if (ranks() == 1) return;
    wrong(small_tensor({2, 3}, DType::f64, rank()), ReduceOp::sum,
          {"tensor dtype is float32 on", "float64 on " + who});
    wrong(small_tensor({3, 2}, DType::f32, rank()), ReduceOp::sum,
          {"tensor shape is [2, 3] on", "[3, 2] on " + who});
    wrong(good, ReduceOp::max, {"reduce is SUM on", "MAX on " + who});
    same_error_everywhere(
        [&] {
            here ? reduce(good, GroupRank(0), ReduceOp::sum, group) : all_reduce(good, ReduceOp::sum, group);
        },
        {"operation is", "all_reduce on", "reduce on " + who});
    check_all_reduce({2, 3}, DType::f32, ReduceOp::sum, Arrangement::contiguous, group);
}
