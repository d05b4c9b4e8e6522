#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/shape.h>

#include "tensor/expect_error.h"

using plumb::ArgumentError;
using plumb::Shape;

TEST_CASE("extents: making, reading, comparing") {
    const Shape scalar;
    CHECK(scalar.ndim() == 0);
    CHECK(scalar == Shape{});
    CHECK(scalar.begin() == scalar.end());

    Shape shape{4, 5, 6};
    CHECK(shape.ndim() == 3);
    CHECK(shape[0] == 4);
    CHECK(shape[2] == 6);
    CHECK(shape == Shape{4, 5, 6});
    CHECK_FALSE(shape == Shape{4, 5});
    CHECK_FALSE(shape == Shape{4, 5, 7});
    CHECK(shape.with(1, 9) == Shape{4, 9, 6});
    CHECK(shape == Shape{4, 5, 6});
    shape.push_back(7);
    CHECK(shape == Shape{4, 5, 6, 7});
    CHECK(Shape::filled(3, 2) == Shape{2, 2, 2});
    CHECK(Shape::filled(0, 2) == Shape{});
    const std::vector<std::int64_t> values{3, 1};
    CHECK(Shape(std::span(values)) == Shape{3, 1});
    // What was there before `ndim` shrank or grew plays no role.
    Shape grown{1};
    grown.push_back(2);
    CHECK(grown == Shape{1, 2});
}

TEST_CASE("eight dimensions and no more") {
    Shape shape{1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(shape.ndim() == 8);
    CHECK(plumb::element_count(shape) == 40320);
    expect_error<ArgumentError>([&] { shape.push_back(9); }, {"shape", "9 dimensions", "at most 8"});
    CHECK(shape.ndim() == 8);
    expect_error<ArgumentError>(
        [] {
            static_cast<void>(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1});
        },
        {"9 dimensions", "at most 8"});
    expect_error<ArgumentError>([] { static_cast<void>(Shape::filled(10, 1)); },
                                {"10 dimensions", "at most 8"});
    expect_error<ArgumentError>([] { static_cast<void>(Shape::filled(-1, 1)); }, {"-1", "0 to 8"});
}

TEST_CASE("element counts") {
    CHECK(plumb::element_count({}) == 1);
    CHECK(plumb::element_count({7}) == 7);
    CHECK(plumb::element_count({2, 3, 4}) == 24);
    CHECK(plumb::element_count({2, 0, 4}) == 0);
    const std::int64_t half = std::int64_t{1} << 62;
    CHECK(plumb::element_count({half, 1}) == half);
    CHECK(plumb::element_count({half, half, 0}) == 0);
    CHECK(plumb::element_count({std::numeric_limits<std::int64_t>::max()}) ==
          std::numeric_limits<std::int64_t>::max());
    expect_error<ArgumentError>(
        [&] {
            static_cast<void>(plumb::element_count({half, 2}));
        },
        {"shape", "[4611686018427387904, 2]", "2^63"});
    expect_error<ArgumentError>(
        [] {
            static_cast<void>(plumb::element_count({2, -1}));
        },
        {"shape", "negative", "[2, -1]", "0 and more"});
    expect_error<ArgumentError>([] { static_cast<void>(plumb::element_count({0, -1})); }, {"[0, -1]"});
}

TEST_CASE("row-major strides") {
    CHECK(plumb::contiguous_strides({}) == plumb::Strides{});
    CHECK(plumb::contiguous_strides({5}) == plumb::Strides{1});
    CHECK(plumb::contiguous_strides({2, 3, 4}) == plumb::Strides{12, 4, 1});
    CHECK(plumb::contiguous_strides({2, 1, 4}) == plumb::Strides{4, 4, 1});
    CHECK(plumb::contiguous_strides({2, 0, 4}) == plumb::Strides{4, 4, 1});
}

TEST_CASE("dims may be negative") {
    CHECK(plumb::normalise_dim(0, 3) == 0);
    CHECK(plumb::normalise_dim(2, 3) == 2);
    CHECK(plumb::normalise_dim(-1, 3) == 2);
    CHECK(plumb::normalise_dim(-3, 3) == 0);
    expect_error<ArgumentError>([] { static_cast<void>(plumb::normalise_dim(3, 3)); },
                                {"dim: 3 given", "3 dimensions", "-3 to 2"});
    expect_error<ArgumentError>([] { static_cast<void>(plumb::normalise_dim(-4, 3, "gather_dim")); },
                                {"gather_dim: -4 given", "-3 to 2"});
    expect_error<ArgumentError>([] { static_cast<void>(plumb::normalise_dim(1, 1)); },
                                {"1 dimension;", "-1 to 0"});
    expect_error<ArgumentError>([] { static_cast<void>(plumb::normalise_dim(0, 0)); },
                                {"dim: 0 given", "scalar"});
}

TEST_CASE("an extent multiplied") {
    CHECK(plumb::multiplied(Shape{2, 3}, 1, 4) == Shape{2, 12});
    CHECK(plumb::multiplied(Shape{std::int64_t{1} << 61, 0}, 0, 3) == Shape{3 * (std::int64_t{1} << 61), 0});
    expect_error<ArgumentError>(
        [] {
            static_cast<void>(plumb::multiplied(Shape{std::int64_t{1} << 62, 0}, 0, 3));
        },
        {"extent 4611686018427387904 of dim 0", "times 3", "at most 2^63-1"});
    // Where the product would wrap to a legal extent.
    expect_error<ArgumentError>(
        [] {
            static_cast<void>(plumb::multiplied(Shape{std::numeric_limits<std::int64_t>::max(), 0}, 0, 3));
        },
        {"extent 9223372036854775807 of dim 0"});
}

TEST_CASE("shapes as text") {
    CHECK(plumb::to_string(Shape{}) == "[]");
    CHECK(plumb::to_string(Shape{3}) == "[3]");
    CHECK(plumb::to_string(Shape{2, -3, 0}) == "[2, -3, 0]");
}
