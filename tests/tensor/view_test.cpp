#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

#include <plumb/core/error.h>
#include <plumb/tensor/view.h>

#include "tensor/expect_error.h"

using plumb::ArgumentError;
using plumb::ConstView;
using plumb::DType;
using plumb::Shape;
using plumb::Strides;
using plumb::View;

TEST_CASE("a contiguous view") {
    std::array<std::byte, 96> memory{};
    const View view = plumb::contiguous_view(memory.data(), DType::f32, {2, 3, 4});
    CHECK(view.data == memory.data());
    CHECK(view.dtype == DType::f32);
    CHECK(view.ndim() == 3);
    CHECK(view.strides == Strides{12, 4, 1});
    CHECK(view.element_count() == 24);
    CHECK(view.bytes() == 96);
    CHECK(view.space == plumb::MemorySpace::host);
    const ConstView same = view;
    CHECK(same.data == memory.data());
    CHECK(same.strides == view.strides);
    CHECK(plumb::contiguous_view(memory.data(), DType::c128, {}).bytes() == 16);
    CHECK(plumb::contiguous_view(memory.data(), DType::c128, {3, 0}).bytes() == 0);
}

TEST_CASE("narrow, transpose and select") {
    std::array<std::byte, 96> memory{};
    const View view = plumb::contiguous_view(memory.data(), DType::f32, {2, 3, 4});

    const View narrowed = plumb::narrow(view, 2, 1, 2);
    CHECK(narrowed.shape == Shape{2, 3, 2});
    CHECK(narrowed.strides == Strides{12, 4, 1});
    CHECK(narrowed.data - memory.data() == 4);
    CHECK(plumb::narrow(view, 0, 1, 1).data - memory.data() == 48);
    CHECK(plumb::narrow(view, 1, 3, 0).shape == Shape{2, 0, 4});
    CHECK(plumb::narrow(view, 1, 0, 3).shape == view.shape);

    const View turned = plumb::transpose(view, 0, 2);
    CHECK(turned.shape == Shape{4, 3, 2});
    CHECK(turned.strides == Strides{1, 4, 12});
    CHECK(turned.data == memory.data());
    CHECK(plumb::transpose(view, 1, 1).strides == view.strides);

    const View selected = plumb::select(turned, 1, 2);
    CHECK(selected.shape == Shape{4, 2});
    CHECK(selected.strides == Strides{1, 12});
    CHECK(selected.data - memory.data() == 32);

    const ConstView constant = view;
    CHECK(plumb::select(plumb::transpose(plumb::narrow(constant, 1, 1, 2), 0, 1), 0, 1).data -
              memory.data() ==
          32);
}

TEST_CASE("an empty view's null pointer stays null") {
    const View view = plumb::contiguous_view(static_cast<std::byte*>(nullptr), DType::f32, {3, 0, 4});
    CHECK(plumb::narrow(view, 0, 2, 1).data == nullptr);
    CHECK(plumb::select(view, 2, 3).data == nullptr);
    CHECK(plumb::select(view, 2, 3).shape == Shape{3, 0});
}

TEST_CASE("views outside the range are refused") {
    std::array<std::byte, 6> memory{};
    const View view = plumb::contiguous_view(memory.data(), DType::i8, {2, 3});
    const std::int64_t huge = std::int64_t{1} << 62;
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::narrow(view, 1, 2, 2)); },
                                {"narrow", "start 2", "length 2", "extent 3", "dim 1", "start + length"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::narrow(view, 1, -1, 2)); }, {"start -1"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::narrow(view, 1, 1, -1)); }, {"length -1"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::narrow(view, 1, huge, huge)); }, {"extent 3"});
    expect_error<ArgumentError>(
        [&] { static_cast<void>(plumb::narrow(view, 1, 1, std::numeric_limits<std::int64_t>::max())); },
        {"extent 3"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::narrow(view, 2, 0, 1)); },
                                {"narrow: dim", "2 given", "[2, 3]", "0 to 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::transpose(view, 0, 2)); },
                                {"transpose: dim_b", "2 given", "0 to 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::transpose(view, -1, 0)); },
                                {"transpose: dim_a", "-1 given"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::select(view, 1, 3)); },
                                {"select", "index 3", "extent 3", "dim 1"});
    expect_error<ArgumentError>([&] { static_cast<void>(plumb::select(view, 1, -1)); }, {"index -1"});
}

TEST_CASE("contiguity") {
    std::array<std::byte, 64> memory{};
    const auto contiguous = [&](const Shape& shape, const Strides& strides) {
        return plumb::is_contiguous(View{memory.data(), DType::i8, shape, strides});
    };
    CHECK(contiguous({}, {}));
    CHECK(contiguous({2, 3}, {3, 1}));
    CHECK_FALSE(contiguous({2, 3}, {1, 2}));
    CHECK_FALSE(contiguous({2, 3}, {4, 1}));
    CHECK_FALSE(contiguous({3}, {2}));
    CHECK_FALSE(contiguous({3}, {0}));
    CHECK_FALSE(contiguous({3}, {-1}));
    CHECK(contiguous({1}, {0}));
    CHECK(contiguous({2, 1, 3}, {3, 99, 1}));
    CHECK(contiguous({1, 3}, {-7, 1}));
    CHECK(contiguous({0, 3}, {5, 5}));
}
