#include <doctest/doctest.h>

#include <mpi.h>

#include <plumb/mpi/counts.h>

#include "ops_all_to_all/all_to_all_cases.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// Shapes whose every dimension this number of ranks divides, or which are empty.
std::vector<Shape> shapes() {
    const std::int64_t n = ranks();
    return {{n, n}, {2 * n, 3 * n}, {n, 2 * n, 3 * n},       {2 * n, 1 * n, n, n},
            {0, n}, {n, 0, 2 * n},  {n, n, 1, 1, n, 1, 1, n}};
}

bool divisible(const Shape& shape, int dim) {
    return shape[dim] % ranks() == 0;
}

Layout row_major(const Shape& shape) {
    std::vector<int> order;
    for (int d = 0; d < shape.ndim(); ++d) {
        order.push_back(d);
    }
    return make_layout("row-major", shape, order, 0, 1, 0, 0);
}

template <class Body>
void for_each_dims(const Shape& shape, Body&& body) {
    for (int g = 0; g < shape.ndim(); ++g) {
        for (int s = 0; s < shape.ndim(); ++s) {
            if (g != s && divisible(shape, s)) {
                CAPTURE(g);
                CAPTURE(s);
                body(g, s);
            }
        }
    }
}

}  // namespace

TEST_CASE("all_to_all: every element lands where the formula says, for every layout") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Shape& shape : shapes()) {
        // Eight dims of many ranks are many elements; a few layouts say it all there.
        if (element_count(shape) > 5000) {
            continue;
        }
        for (const Layout& layout : source_layouts(shape)) {
            CAPTURE(layout.name);
            CAPTURE(to_string(shape));
            for_each_dims(shape, [&](int g, int s) {
                const Tensor input = filled_tensor(layout, DType::i32, rank());
                const Tensor output = all_to_all(input, g, s, group);
                CHECK(output.is_contiguous());
                CHECK_FALSE(output.shares_storage_with(input));
                check_redistributed(output, layout, DType::i32, g, s);
                check_unchanged(input, layout, DType::i32);
            });
        }
    }
}

TEST_CASE("all_to_all: every element type is moved bit for bit") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Shape shape{ranks(), 2, 2 * ranks()};
    for (const DType dtype : kAllDTypes) {
        CAPTURE(name(dtype));
        const Layout layout = row_major(shape);
        check_redistributed(all_to_all(filled_tensor(layout, dtype, rank()), 1, 2, group), layout, dtype, 1,
                            2);
        check_redistributed(all_to_all(filled_tensor(layout, dtype, rank()), 1, 0, group), layout, dtype, 1,
                            0);
    }
}

TEST_CASE("all_to_all: the same through any count limit") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const std::int64_t limit : {1, 7, 64}) {
        CAPTURE(limit);
        mpi::set_count_limit(limit);
        for (const Shape& shape : {Shape{ranks(), 3, 2 * ranks()}, Shape{0, ranks()}}) {
            for (const Layout& layout : distinct_layouts(shape)) {
                for_each_dims(shape, [&](int g, int s) {
                    check_redistributed(all_to_all(filled_tensor(layout, DType::f32, rank()), g, s, group),
                                        layout, DType::f32, g, s);
                });
            }
        }
        mpi::set_count_limit(2147483647);
    }
}

TEST_CASE("all_to_all into the caller's tensor: through any strides, nothing else is touched") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::int64_t n = ranks();
    const Shape shape{2 * n, 3, n};
    const Layout source = row_major(shape);
    const Tensor input = filled_tensor(source, DType::i16, rank());
    for (const Layout& target : distinct_layouts(Shape{2, 3 * n, n})) {
        CAPTURE(target.name);
        const Tensor output = filled_tensor(target, DType::i16, 1000);
        const Tensor result = all_to_all(output, input, 1, 0, group);
        CHECK(result.shares_storage_with(output));
        check_redistributed(output, source, DType::i16, 1, 0);
        // What lies between the elements keeps its bytes.
        std::vector<bool> element(static_cast<std::size_t>(target.elements) * 2, false);
        for (const std::int64_t position : positions(target)) {
            element[static_cast<std::size_t>(2 * position)] =
                element[static_cast<std::size_t>(2 * position + 1)] = true;
        }
        const std::byte* base = output.bytes() - 2 * target.offset;
        for (std::size_t i = 0; i < element.size(); ++i) {
            if (!element[i]) {
                REQUIRE(base[i] == byte_of(1000, static_cast<std::int64_t>(i), DType::i16));
            }
        }
    }
}

TEST_CASE("all_to_all_backward is the inverse, and the adjoint") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Shape& shape : {Shape{2 * ranks(), 3, ranks()}, Shape{ranks(), ranks(), 2}}) {
        for_each_dims(shape, [&](int g, int s) {
            const Layout layout = row_major(shape);
            const Tensor x = filled_tensor(layout, DType::i64, rank());
            const Tensor y = all_to_all(x, g, s, group);
            const Tensor back = all_to_all_backward(y, g, s, group);
            CHECK(back.shape() == shape);
            CHECK(back.to_vector<std::int64_t>() == x.to_vector<std::int64_t>());

            // <f(x), w> = <x, f^T(w)>, both summed over all ranks, in arithmetic that wraps exactly.
            const Tensor w = filled_tensor(row_major(y.shape()), DType::i64, rank() + 100);
            const Tensor adjoint = all_to_all_backward(w, g, s, group);
            const auto dot = [](const Tensor& a, const Tensor& b) {
                const auto av = a.to_vector<std::int64_t>();
                const auto bv = b.to_vector<std::int64_t>();
                std::uint64_t sum = 0;
                for (std::size_t i = 0; i < av.size(); ++i) {
                    sum += static_cast<std::uint64_t>(av[i]) * static_cast<std::uint64_t>(bv[i]);
                }
                return sum;
            };
            std::uint64_t sums[2] = {dot(y, w), dot(x, adjoint)};
            MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
            CHECK(sums[0] == sums[1]);
            CHECK(sums[0] != 0);
        });
    }
}

TEST_CASE(
    "all_to_all_backward: values by the forward formula with the dims exchanged, into the caller's tensor "
    "too") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Layout layout = row_major({3, 2 * ranks(), 2});
    const Tensor grad_output = filled_tensor(layout, DType::bf16, rank());
    check_redistributed(all_to_all_backward(grad_output, 1, 0, group), layout, DType::bf16, 0, 1);
    const Tensor grad_input = Tensor::zeros({2, 3 * ranks(), 2}, DType::bf16).transpose(0, 1);
    all_to_all_backward(grad_input, grad_output, 1, 0, group);
    check_redistributed(grad_input, layout, DType::bf16, 0, 1);
}
