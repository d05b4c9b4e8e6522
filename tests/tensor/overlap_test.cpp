#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <plumb/tensor/view.h>

#include "tensor/formats.h"
#include "tensor/layouts.h"

using plumb::ConstView;
using plumb::DType;
using plumb::Shape;
using plumb::Strides;

namespace {

/// Nothing here is read: an address is enough.
const std::byte* at(std::int64_t address) {
    return reinterpret_cast<const std::byte*>(address);
}

constexpr std::int64_t kBase = std::int64_t{1} << 44;

/// The addresses of all bytes of all elements, an address per byte and element, sorted.
std::vector<std::int64_t> all_bytes(const ConstView& view) {
    const auto size = static_cast<std::int64_t>(plumb::size_of(view.dtype));
    const Layout layout{"", view.shape, view.strides, 0, 0};
    std::vector<std::int64_t> bytes;
    for (const std::int64_t position : positions(layout))
        for (std::int64_t byte = 0; byte < size; ++byte)
            bytes.push_back(reinterpret_cast<std::int64_t>(view.data) + position * size + byte);
    std::sort(bytes.begin(), bytes.end());
    return bytes;
}

ConstView random_view(Sequence& sequence, std::int64_t reach) {
    constexpr DType dtypes[] = {DType::i8, DType::i16, DType::i32, DType::f64, DType::c128};
    ConstView view{at(kBase + sequence.below(reach * 4)), dtypes[sequence.below(5)], {}, {}};
    const std::int64_t ndim = sequence.below(4);
    for (std::int64_t dim = 0; dim < ndim; ++dim) {
        view.shape.push_back(sequence.below(5));
        view.strides.push_back(sequence.below(2 * reach) - reach);
    }
    return view;
}

}  // namespace

TEST_CASE("views that overlap themselves") {
    const auto overlapping = [](const Shape& shape, const Strides& strides) {
        return plumb::overlaps_itself(ConstView{at(kBase), DType::f32, shape, strides});
    };
    CHECK_FALSE(overlapping({}, {}));
    CHECK_FALSE(overlapping({2, 3}, {3, 1}));
    CHECK_FALSE(overlapping({3, 2}, {1, 3}));
    CHECK_FALSE(overlapping({2, 3}, {-3, 1}));
    CHECK(overlapping({2, 3}, {0, 1}));
    CHECK(overlapping({2}, {0}));
    CHECK_FALSE(overlapping({1, 3}, {0, 1}));
    CHECK_FALSE(overlapping({0, 3}, {0, 0}));
    CHECK(overlapping({2, 3}, {1, 1}));
    CHECK(overlapping({2, 3}, {2, 1}));
    CHECK(overlapping({2, 3}, {-2, 1}));
    CHECK_FALSE(overlapping({2, 3}, {1, 2}));
    CHECK_FALSE(overlapping({2, 5}, {3, 2}));  // 0 2 4 6 8, 3 5 7 9 11
    CHECK(overlapping({3, 5}, {3, 2}));        // 6 twice
    CHECK_FALSE(overlapping({2, 2, 2}, {6, 10, 15}));
    CHECK_FALSE(overlapping({4, 3, 2}, {6, 10, 15}));
    CHECK(overlapping({6, 4, 2}, {6, 10, 15}));  // 5 * 6 = 3 * 10
}

TEST_CASE("views that share a byte") {
    const ConstView whole = plumb::contiguous_view(at(kBase), DType::f32, Shape{4, 6});
    const ConstView left = plumb::narrow(whole, 1, 0, 3);
    const ConstView right = plumb::narrow(whole, 1, 3, 3);
    CHECK(plumb::overlap(whole, whole));
    CHECK(plumb::overlap(whole, left));
    CHECK_FALSE(plumb::overlap(left, right));
    CHECK_FALSE(plumb::overlap(plumb::narrow(whole, 0, 0, 2), plumb::narrow(whole, 0, 2, 2)));
    CHECK(plumb::overlap(plumb::narrow(whole, 1, 0, 4), right));
    CHECK(plumb::overlap(plumb::transpose(left, 0, 1), left));
    CHECK_FALSE(plumb::overlap(plumb::transpose(left, 0, 1), right));
    CHECK_FALSE(plumb::overlap(plumb::narrow(whole, 0, 1, 0), whole));
    // One byte is enough.
    const ConstView shifted = plumb::contiguous_view(at(kBase + 95), DType::i8, Shape{4});
    CHECK(plumb::overlap(whole, shifted));
    CHECK_FALSE(plumb::overlap(whole, plumb::contiguous_view(at(kBase + 96), DType::i8, Shape{4})));
    CHECK(plumb::overlap(plumb::contiguous_view(at(kBase - 3), DType::f32, {}), whole));
    CHECK_FALSE(plumb::overlap(plumb::contiguous_view(at(kBase - 4), DType::f32, {}), whole));
    // Even and odd elements.
    const ConstView even{at(kBase), DType::f64, Shape{50}, Strides{2}};
    const ConstView odd{at(kBase + 8), DType::f64, Shape{50}, Strides{2}};
    CHECK_FALSE(plumb::overlap(even, odd));
    CHECK(plumb::overlap(even, ConstView{at(kBase + 9), DType::f64, Shape{50}, Strides{2}}));
}

TEST_CASE("large slices of one tensor are told apart exactly") {
    const std::int64_t extent = 1 << 12;
    const ConstView whole = plumb::contiguous_view(at(kBase), DType::bf16, Shape{8, extent, 2 * extent, 3});
    const ConstView left = plumb::narrow(whole, 2, 0, extent);
    const ConstView right = plumb::narrow(whole, 2, extent, extent);
    CHECK_FALSE(plumb::overlap(left, right));
    CHECK_FALSE(plumb::overlap(plumb::transpose(right, 0, 3), plumb::transpose(left, 1, 2)));
    CHECK(plumb::overlap(left, plumb::narrow(whole, 2, extent - 1, 2)));
    CHECK_FALSE(plumb::overlaps_itself(plumb::transpose(right, 0, 2)));
    CHECK_FALSE(plumb::overlap(plumb::select(whole, 3, 0), plumb::select(whole, 3, 1)));
}

TEST_CASE("random small views, against all their bytes") {
    Sequence sequence;
    int self = 0;
    int shared = 0;
    int total = 0;
    for (const std::int64_t reach : {3, 12, 60}) {
        for (int round = 0; round < 3000; ++round, ++total) {
            const ConstView a = random_view(sequence, reach);
            const ConstView b = random_view(sequence, reach);
            const auto bytes_a = all_bytes(a);
            const auto bytes_b = all_bytes(b);
            const bool twice = std::adjacent_find(bytes_a.begin(), bytes_a.end()) != bytes_a.end();
            std::vector<std::int64_t> common;
            std::set_intersection(bytes_a.begin(), bytes_a.end(), bytes_b.begin(), bytes_b.end(),
                                  std::back_inserter(common));
            CAPTURE(plumb::to_string(a.shape));
            CAPTURE(plumb::to_string(a.strides));
            CAPTURE(plumb::to_string(b.shape));
            CAPTURE(plumb::to_string(b.strides));
            REQUIRE(plumb::overlaps_itself(a) == twice);
            REQUIRE(plumb::overlap(a, b) == !common.empty());
            REQUIRE(plumb::overlap(b, a) == !common.empty());
            self += twice ? 1 : 0;
            shared += common.empty() ? 0 : 1;
        }
    }
    // Both answers came up often.
    CHECK(self > total / 10);
    CHECK(self < total * 9 / 10);
    CHECK(shared > total / 10);
    CHECK(shared < total * 9 / 10);
}

TEST_CASE("wild strides of 2^16 elements: exact all the same") {
    // Eight dimensions of four, with strides about as large as the reach of all others: no shortcut sees that
    // the two never meet.
    Sequence sequence;
    ConstView a{at(kBase), DType::i8, Shape::filled(8, 4), Strides::filled(8, 0)};
    ConstView b = a;
    b.data = at(kBase + 1);
    for (int dim = 0; dim < 8; ++dim) {
        a.strides[dim] = (std::int64_t{1} << 40) + sequence.below(std::int64_t{1} << 38);
        b.strides[dim] = (std::int64_t{1} << 40) + sequence.below(std::int64_t{1} << 38);
    }
    const auto bytes_a = all_bytes(a);
    const auto bytes_b = all_bytes(b);
    REQUIRE(std::adjacent_find(bytes_a.begin(), bytes_a.end()) == bytes_a.end());
    CHECK_FALSE(plumb::overlaps_itself(a));
    std::vector<std::int64_t> common;
    std::set_intersection(bytes_a.begin(), bytes_a.end(), bytes_b.begin(), bytes_b.end(),
                          std::back_inserter(common));
    REQUIRE(common.empty());
    CHECK_FALSE(plumb::overlap(a, b));
    // Moved so that one byte in the middle falls on another.
    b.data += bytes_a[30000] - bytes_b[31000];
    CHECK(plumb::overlap(a, b));
}
