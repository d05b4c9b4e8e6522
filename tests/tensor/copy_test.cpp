#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "tensor/expect_error.h"
#include "tensor/layouts.h"

using plumb::ArgumentError;
using plumb::ConstView;
using plumb::DType;
using plumb::Shape;
using plumb::View;

namespace {

constexpr std::byte kUntouched{0xEE};

const std::vector<Shape>& small_shapes() {
    static const std::vector<Shape> shapes = {
        {},        {1},    {5},          {0, 3},       {3, 0, 2},       {2, 3},
        {7, 5, 3}, {4, 2}, {1, 4, 1, 3}, {2, 3, 2, 4}, {2, 1, 3, 2, 2}, {2, 2, 2, 2, 2, 2, 2, 2},
        {3, 16},   {1, 1}};
    return shapes;
}

/// Longer than one tile in one or two dimensions, and no multiple of it.
const std::vector<Shape>& large_shapes() {
    static const std::vector<Shape> shapes = {{70, 67}, {3, 130, 35}, {37, 2, 33}, {200, 3}};
    return shapes;
}

std::vector<std::byte> untouched(const Layout& layout, DType dtype) {
    return std::vector<std::byte>(static_cast<std::size_t>(layout.elements) * plumb::size_of(dtype),
                                  kUntouched);
}

/// A layout and where its elements are.
struct Placed {
    explicit Placed(const Layout& made) : layout(made), places(positions(made)) {}

    Layout layout;
    std::vector<std::int64_t> places;
};

std::vector<Placed> placed(const std::vector<Layout>& layouts) {
    return {layouts.begin(), layouts.end()};
}

/// What `dst` must hold once the elements of `src` have been put one by one to their places.
std::vector<std::byte> moved_one_by_one(const Placed& dst, const Placed& src,
                                        const std::vector<std::byte>& from, DType dtype) {
    std::vector<std::byte> result = untouched(dst.layout, dtype);
    const auto size = static_cast<std::int64_t>(plumb::size_of(dtype));
    for (std::size_t i = 0; i < dst.places.size(); ++i)
        std::copy_n(from.data() + src.places[i] * size, size, result.data() + dst.places[i] * size);
    return result;
}

void check_all_layouts(const Shape& shape, DType dtype) {
    const std::vector<Placed> targets = placed(distinct_layouts(shape));
    const Placed& dense = targets.front();
    for (const Placed& src : placed(source_layouts(shape))) {
        const std::vector<std::byte> from = patterned(src.layout, dtype);
        const ConstView source = view_of(src.layout, dtype, from.data());
        for (const Placed& dst : targets) {
            INFO(plumb::name(dtype), " ", plumb::to_string(shape), ": ", src.layout.name, " to ",
                 dst.layout.name);
            std::vector<std::byte> to = untouched(dst.layout, dtype);
            plumb::copy(view_of(dst.layout, dtype, to.data()), source);
            REQUIRE(to == moved_one_by_one(dst, src, from, dtype));
        }
        INFO(plumb::name(dtype), " ", plumb::to_string(shape), ": pack ", src.layout.name);
        std::vector<std::byte> packed = untouched(dense.layout, dtype);
        plumb::pack(packed.data(), source);
        REQUIRE(packed == moved_one_by_one(dense, src, from, dtype));
    }
    const std::vector<std::byte> packed = patterned(dense.layout, dtype);
    for (const Placed& dst : targets) {
        INFO(plumb::name(dtype), " ", plumb::to_string(shape), ": unpack to ", dst.layout.name);
        std::vector<std::byte> to = untouched(dst.layout, dtype);
        plumb::unpack(view_of(dst.layout, dtype, to.data()), packed.data());
        REQUIRE(to == moved_one_by_one(dst, dense, packed, dtype));

        INFO("zeros");
        std::vector<std::byte> zeroed = untouched(dst.layout, dtype);
        plumb::fill_zero(view_of(dst.layout, dtype, zeroed.data()));
        const std::vector<std::byte> zeros(packed.size(), std::byte{0});
        REQUIRE(zeroed == moved_one_by_one(dst, dense, zeros, dtype));
    }
}

}  // namespace

TEST_CASE("copy, pack, unpack and fill_zero: all dtypes, shapes and layouts") {
    for (const DType dtype : plumb::kAllDTypes)
        for (const Shape& shape : small_shapes())
            check_all_layouts(shape, dtype);
}

TEST_CASE("copy, pack, unpack and fill_zero: shapes of several tiles") {
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::c64, DType::c128})
        for (const Shape& shape : large_shapes())
            check_all_layouts(shape, dtype);
}

TEST_CASE("elements need no alignment") {
    std::vector<std::byte> from(1 + 4 * 6);
    for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<std::byte>(i);
    std::vector<std::byte> to(3 + 4 * 6);
    const ConstView source =
        plumb::transpose(plumb::contiguous_view(std::as_const(from).data() + 1, DType::f32, {2, 3}), 0, 1);
    plumb::copy(plumb::contiguous_view(to.data() + 3, DType::f32, {3, 2}), source);
    CHECK(to[3] == std::byte{1});
    CHECK(to[7] == std::byte{13});   // element (1, 0) of the original
    CHECK(to[11] == std::byte{5});   // element (0, 1)
    CHECK(to[26] == std::byte{24});  // the last byte
}

TEST_CASE("empty views may have null pointers") {
    const View nothing = plumb::contiguous_view(static_cast<std::byte*>(nullptr), DType::f32, {2, 0});
    plumb::copy(nothing, nothing);
    plumb::pack(nullptr, nothing);
    plumb::unpack(nothing, nullptr);
    plumb::fill_zero(nothing);
    plumb::add(nothing, nothing);
    plumb::multiply(nothing, 2);
    plumb::divide(nothing, 2);
    CHECK(nothing.element_count() == 0);
}

TEST_CASE("views that do not fit are refused and nothing is written") {
    std::vector<std::byte> from(64, std::byte{1});
    std::vector<std::byte> to(64, kUntouched);
    const auto source = plumb::contiguous_view(std::as_const(from).data(), DType::f32, {2, 3});
    expect_error<ArgumentError>(
        [&] {
            plumb::copy(plumb::contiguous_view(to.data(), DType::f32, {3, 2}), source);
        },
        {"copy", "dst has shape [3, 2]", "src [2, 3]"});
    expect_error<ArgumentError>(
        [&] { plumb::copy(plumb::contiguous_view(to.data(), DType::f32, {6}), source); },
        {"copy", "dst has shape [6]", "src [2, 3]"});
    expect_error<ArgumentError>(
        [&] {
            plumb::copy(plumb::contiguous_view(to.data(), DType::i32, {2, 3}), source);
        },
        {"copy", "dst has dtype int32", "src float32"});
    expect_error<ArgumentError>(
        [&] {
            plumb::add(plumb::contiguous_view(to.data(), DType::f64, {2, 3}), source);
        },
        {"add", "dst has dtype float64", "src float32"});
    expect_error<ArgumentError>(
        [&] { plumb::add(plumb::contiguous_view(to.data(), DType::f32, {2}), source); },
        {"add", "dst has shape [2]", "src [2, 3]"});
    const View device = plumb::contiguous_view(to.data(), DType::f32, {2, 3}, plumb::MemorySpace::cuda);
    expect_error<ArgumentError>([&] { plumb::copy(device, source); }, {"copy", "'cuda' given", "'host'"});
    expect_error<ArgumentError>([&] { plumb::pack(to.data(), device); }, {"pack", "'cuda' given", "'host'"});
    expect_error<ArgumentError>([&] { plumb::unpack(device, from.data()); }, {"unpack", "'cuda' given"});
    expect_error<ArgumentError>([&] { plumb::fill_zero(device); }, {"fill_zero", "'cuda' given"});
    expect_error<ArgumentError>([&] { plumb::multiply(device, 2); }, {"multiply", "'cuda' given"});
    CHECK(std::count(to.begin(), to.end(), kUntouched) == 64);
}
