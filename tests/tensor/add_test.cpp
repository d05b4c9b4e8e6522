#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "tensor/expect_error.h"
#include "tensor/formats.h"
#include "tensor/layouts.h"

using plumb::ArgumentError;
using plumb::DType;
using plumb::Shape;

namespace {

template <class T>
std::byte* bytes(std::vector<T>& values) {
    return reinterpret_cast<std::byte*>(values.data());
}

template <class T>
T add_one(T a, T b) {
    std::vector<T> left{a};
    std::vector<T> right{b};
    plumb::add(plumb::contiguous_view(bytes(left), plumb::dtype_of<T>(), {}),
               plumb::contiguous_view(bytes(right), plumb::dtype_of<T>(), {}));
    CHECK((right[0] == b || b != b));
    return left[0];
}

template <class T>
void check_both_orders(T a, T b, T wanted) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(add_one(a, b) == wanted);
    CHECK(add_one(b, a) == wanted);
}

/// Small whole numbers that every dtype holds exactly, written without the library.
void write_whole(DType dtype, std::byte* element, int value) {
    const auto write = [&](auto typed) { std::memcpy(element, &typed, sizeof(typed)); };
    for (const Format& format : formats())
        if (format.dtype == dtype) return format.write(element, format.nearest(value));
    switch (dtype) {
        case DType::u8:
            return write(static_cast<std::uint8_t>(value));
        case DType::i8:
            return write(static_cast<std::int8_t>(value));
        case DType::i16:
            return write(static_cast<std::int16_t>(value));
        case DType::i32:
            return write(static_cast<std::int32_t>(value));
        case DType::i64:
            return write(static_cast<std::int64_t>(value));
        case DType::f32:
            return write(static_cast<float>(value));
        case DType::f64:
            return write(static_cast<double>(value));
        case DType::c64:
            return write(std::complex<float>(static_cast<float>(value), static_cast<float>(-2 * value)));
        case DType::c128:
            return write(std::complex<double>(value, -2 * value));
        default:
            FAIL("no numbers of this dtype");
    }
}

/// The whole numbers from 0 to 16 as elements of one dtype.
class WholeNumbers {
  public:
    explicit WholeNumbers(DType dtype) : size_(plumb::size_of(dtype)), elements_(17 * size_) {
        for (int value = 0; value <= 16; ++value)
            write_whole(dtype, elements_.data() + static_cast<std::size_t>(value) * size_, value);
    }

    /// Puts `value` at `position` of `buffer`.
    void put(std::vector<std::byte>& buffer, std::int64_t position, int value) const {
        std::memcpy(buffer.data() + static_cast<std::size_t>(position) * size_,
                    elements_.data() + static_cast<std::size_t>(value) * size_, size_);
    }

    [[nodiscard]] std::vector<std::byte> fill(const Layout& layout, int (*value)(std::int64_t)) const {
        std::vector<std::byte> buffer(static_cast<std::size_t>(layout.elements) * size_);
        for (std::int64_t i = 0; i < layout.elements; ++i)
            put(buffer, i, value(i));
        return buffer;
    }

  private:
    std::size_t size_;
    std::vector<std::byte> elements_;
};

// Sums stay within 0 … 16, which even three mantissa bits hold.
int first_value(std::int64_t i) {
    return static_cast<int>(i * 5 % 8);
}
int second_value(std::int64_t i) {
    return static_cast<int>((i * 3 + 1) % 9);
}

}  // namespace

TEST_CASE("add: all dtypes, shapes and layouts") {
    const std::vector<Shape> shapes = {
        {}, {5}, {0, 2}, {2, 3}, {4, 1, 3}, {3, 2, 2, 3}, {2, 2, 2, 2, 2, 2, 2, 2}};
    for (const DType dtype : plumb::kAllDTypes) {
        if (dtype == DType::boolean) continue;
        const WholeNumbers numbers(dtype);
        for (const Shape& shape : shapes)
            for (const Layout& src : source_layouts(shape))
                for (const Layout& dst : distinct_layouts(shape)) {
                    INFO(plumb::name(dtype), " ", plumb::to_string(shape), ": ", src.name, " to ", dst.name);
                    const std::vector<std::byte> from = numbers.fill(src, second_value);
                    std::vector<std::byte> to = numbers.fill(dst, first_value);
                    std::vector<std::byte> wanted = to;
                    const auto dst_positions = positions(dst);
                    const auto src_positions = positions(src);
                    for (std::size_t i = 0; i < dst_positions.size(); ++i)
                        numbers.put(wanted, dst_positions[i],
                                    first_value(dst_positions[i]) + second_value(src_positions[i]));
                    plumb::add(view_of(dst, dtype, to.data()), view_of(src, dtype, from.data()));
                    REQUIRE(to == wanted);
                }
    }
}

TEST_CASE("add: every pair of bytes, modulo 256") {
    std::vector<std::uint8_t> left(65536);
    std::vector<std::uint8_t> right(65536);
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] = static_cast<std::uint8_t>(i / 256);
        right[i] = static_cast<std::uint8_t>(i % 256);
    }
    for (const DType dtype : {DType::u8, DType::i8}) {
        std::vector<std::uint8_t> sums = left;
        plumb::add(plumb::contiguous_view(bytes(sums), dtype, {65536}),
                   plumb::contiguous_view(bytes(right), dtype, {65536}));
        bool right_all = true;
        for (std::size_t i = 0; i < sums.size(); ++i)
            right_all = right_all && sums[i] == (i / 256 + i % 256) % 256;
        CHECK(right_all);
    }
}

TEST_CASE("add: integers wrap") {
    using Limits16 = std::numeric_limits<std::int16_t>;
    using Limits32 = std::numeric_limits<std::int32_t>;
    using Limits64 = std::numeric_limits<std::int64_t>;
    check_both_orders<std::int16_t>(Limits16::max(), 1, Limits16::min());
    check_both_orders<std::int16_t>(Limits16::min(), -1, Limits16::max());
    check_both_orders<std::int16_t>(Limits16::min(), Limits16::min(), 0);
    check_both_orders<std::int16_t>(30000, 30000, 30000 + 30000 - 65536);
    check_both_orders<std::int32_t>(Limits32::max(), 1, Limits32::min());
    check_both_orders<std::int32_t>(Limits32::min(), -2, Limits32::max() - 1);
    check_both_orders<std::int64_t>(Limits64::max(), 2, Limits64::min() + 1);
    check_both_orders<std::int64_t>(Limits64::min(), -1, Limits64::max());
    check_both_orders<std::int64_t>(Limits64::min(), Limits64::min(), 0);
    check_both_orders<std::int64_t>((std::int64_t{1} << 53) + 1, 1, (std::int64_t{1} << 53) + 2);
}

TEST_CASE("add: f32, f64 and complex round once, ties to even") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    check_both_orders(16777216.0F, 1.0F, 16777216.0F);
    check_both_orders(16777218.0F, 1.0F, 16777220.0F);
    check_both_orders(16777216.0F, 1.0000001F, 16777218.0F);
    check_both_orders(std::numeric_limits<float>::max(), std::numeric_limits<float>::max(), infinity);
    check_both_orders(std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::denorm_min(),
                      std::ldexp(1.0F, -148));
    check_both_orders(infinity, 1.0F, infinity);
    check_both_orders(9007199254740992.0, 1.0, 9007199254740992.0);
    check_both_orders(9007199254740994.0, 1.0, 9007199254740996.0);
    CHECK(std::isnan(add_one(infinity, -infinity)));
    CHECK(std::isnan(add_one(std::nanf(""), 1.0F)));
    CHECK(std::isnan(add_one(1.0F, std::nanf(""))));
    CHECK(std::isnan(add_one(1.0, std::nan(""))));
    CHECK(std::signbit(add_one(-0.0F, -0.0F)));
    CHECK_FALSE(std::signbit(add_one(-0.0F, 0.0F)));
    using Complex = std::complex<float>;
    CHECK(add_one(Complex(16777216.0F, 1.0F), Complex(1.0F, 16777218.0F)) ==
          Complex(16777216.0F, 16777220.0F));
    using Complex2 = std::complex<double>;
    CHECK(add_one(Complex2(1.5, -2.0), Complex2(0.25, 5.0)) == Complex2(1.75, 3.0));
    const Complex half_nan = add_one(Complex(std::nanf(""), 1.0F), Complex(1.0F, 2.0F));
    CHECK(std::isnan(half_nan.real()));
    CHECK(half_nan.imag() == 3.0F);

    // f64 holds the sum of two f32 of like size exactly.
    Sequence sequence;
    for (int round = 0; round < 20000; ++round) {
        const float a =
            std::ldexp(static_cast<float>(sequence.below(1 << 24)), static_cast<int>(sequence.below(20)));
        const float b =
            -std::ldexp(static_cast<float>(sequence.below(1 << 24)), static_cast<int>(sequence.below(20)));
        const float wanted = static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
        REQUIRE(add_one(a, b) == wanted);
        REQUIRE(add_one(b, a) == wanted);
    }
}

TEST_CASE("add: narrow floats are rounded once") {
    for (const Format& format : formats()) {
        CAPTURE(plumb::name(format.dtype));
        const auto size = static_cast<std::int64_t>(plumb::size_of(format.dtype));
        // Every pair of the 8-bit forms, a sample of the 16-bit ones. Exponents of bf16 far apart are left
        // out: there the sum in double is not exact.
        std::vector<std::uint32_t> left;
        std::vector<std::uint32_t> right;
        Sequence sequence;
        for (std::uint32_t i = 0; i < 65536; ++i) {
            if (size == 1) {
                left.push_back(i / 256);
                right.push_back(i % 256);
                continue;
            }
            const auto a = static_cast<std::uint32_t>(sequence.below(65536));
            auto b = static_cast<std::uint32_t>(sequence.below(65536));
            if (format.dtype == DType::bf16 && std::isfinite(format.decode(a)) && i % 4 != 0)
                b = (a + static_cast<std::uint32_t>(sequence.below(4096)) - 2048) % 32768 + b / 32768 * 32768;
            const double va = std::fabs(format.decode(a));
            const double vb = std::fabs(format.decode(b));
            const bool comparable = !std::isfinite(va) || !std::isfinite(vb) || va == 0 || vb == 0 ||
                                    (va < vb * 1e12 && vb < va * 1e12);
            left.push_back(comparable ? a : 0);
            right.push_back(b);
        }
        const auto count = static_cast<std::int64_t>(left.size());
        std::vector<std::byte> sums(left.size() * static_cast<std::size_t>(size));
        std::vector<std::byte> others(sums.size());
        for (std::int64_t i = 0; i < count; ++i) {
            format.write(sums.data() + i * size, left[static_cast<std::size_t>(i)]);
            format.write(others.data() + i * size, right[static_cast<std::size_t>(i)]);
        }
        plumb::add(plumb::contiguous_view(sums.data(), format.dtype, {count}),
                   plumb::contiguous_view(others.data(), format.dtype, {count}));
        for (std::int64_t i = 0; i < count; ++i) {
            const double a = format.decode(left[static_cast<std::size_t>(i)]);
            const double b = format.decode(right[static_cast<std::size_t>(i)]);
            const std::uint32_t wanted = format.nearest(a + b);
            CAPTURE(a);
            CAPTURE(b);
            REQUIRE(format.same(format.read(sums.data() + i * size), wanted));
        }
    }
}

TEST_CASE("add: bool is refused") {
    std::vector<std::uint8_t> values{1, 0};
    const auto view = plumb::contiguous_view(bytes(values), DType::boolean, {2});
    expect_error<ArgumentError>([&] { plumb::add(view, view); }, {"add", "dtype bool given", "allowed"});
    const auto nothing = plumb::contiguous_view(bytes(values), DType::boolean, {0});
    expect_error<ArgumentError>([&] { plumb::add(nothing, nothing); }, {"dtype bool given"});
    CHECK(values == std::vector<std::uint8_t>{1, 0});
}
