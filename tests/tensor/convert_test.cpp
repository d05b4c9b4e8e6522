#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <plumb/core/error.h>
#include <plumb/tensor/convert.h>

#include "tensor/expect_error.h"
#include "tensor/formats.h"

using plumb::ArgumentError;
using plumb::DType;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float loaded(const Format& format, std::uint32_t code) {
    std::array<std::byte, 2> element{};
    format.write(element.data(), code);
    return plumb::load_f32(format.dtype, element.data());
}

std::uint32_t stored(const Format& format, float value) {
    std::array<std::byte, 3> element{std::byte{0}, std::byte{0}, std::byte{0xA5}};
    plumb::store_f32(format.dtype, element.data(), value);
    CHECK(element[2] == std::byte{0xA5});
    if (plumb::size_of(format.dtype) == 1) CHECK(element[1] == std::byte{0});
    return format.read(element.data());
}

/// `value` and its negative must be stored as `code` and its negative.
void check_stored(const Format& format, float value, std::uint32_t code) {
    CAPTURE(value);
    REQUIRE(stored(format, value) == code);
    REQUIRE(stored(format, -value) == code + format.sign_bit());
}

void check_nan(const Format& format, float value) {
    CAPTURE(value);
    REQUIRE(std::isnan(format.decode(stored(format, value))));
}

}  // namespace

TEST_CASE("load: every code") {
    for (const Format& format : formats()) {
        CAPTURE(plumb::name(format.dtype));
        int nans = 0;
        for (std::uint32_t code = 0; code < format.codes(); ++code) {
            CAPTURE(code);
            const double wanted = format.decode(code);
            const float value = loaded(format, code);
            if (std::isnan(wanted)) {
                ++nans;
                REQUIRE(std::isnan(value));
                continue;
            }
            REQUIRE(static_cast<double>(value) == wanted);
            REQUIRE(std::signbit(value) == (code >= format.sign_bit()));
        }
        CHECK(nans == (format.has_infinity ? 2 * ((1 << format.mantissa_bits) - 1) : 2));
    }
}

TEST_CASE("store: every value, every tie and its two neighbours") {
    for (const Format& format : formats()) {
        CAPTURE(plumb::name(format.dtype));
        for (std::uint32_t code = 0; code < format.largest_code(); ++code) {
            CAPTURE(code);
            const auto below = static_cast<float>(format.decode(code));
            const double middle = (format.decode(code) + format.decode(code + 1)) / 2;
            const auto tie = static_cast<float>(middle);
            REQUIRE(static_cast<double>(tie) == middle);
            check_stored(format, below, code);
            check_stored(format, tie, code % 2 == 0 ? code : code + 1);
            check_stored(format, std::nextafter(tie, 0.0F), code);
            check_stored(format, std::nextafter(tie, kInfinity), code + 1);
        }
        check_stored(format, static_cast<float>(format.decode(format.largest_code())), format.largest_code());
        check_stored(format, std::numeric_limits<float>::denorm_min(), 0);
    }
}

TEST_CASE("store: beyond the largest finite value") {
    for (const Format& format : formats()) {
        CAPTURE(plumb::name(format.dtype));
        const auto limit = static_cast<float>(format.limit());
        REQUIRE(static_cast<double>(limit) == format.limit());
        check_stored(format, std::nextafter(limit, 0.0F), format.largest_code());
        for (const float value :
             {std::nextafter(limit, kInfinity), 2 * limit, std::numeric_limits<float>::max(), kInfinity}) {
            if (format.has_infinity) {
                check_stored(format, value, format.largest_code() + 1);
            } else {
                check_nan(format, value);
                check_nan(format, -value);
            }
        }
        // At the limit itself the even neighbour wins: 448 in e4m3fn, infinity elsewhere.
        check_stored(format, limit, format.has_infinity ? format.largest_code() + 1 : format.largest_code());
    }
    CHECK(formats()[2].decode(formats()[2].largest_code()) == 448.0);
    CHECK(formats()[2].limit() == 464.0);
    CHECK(formats()[3].decode(formats()[3].largest_code()) == 57344.0);
}

TEST_CASE("store: NaN stays NaN") {
    for (const Format& format : formats()) {
        CAPTURE(plumb::name(format.dtype));
        for (const std::uint32_t bits : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0x7FFFFFFFU, 0xFF800001U})
            check_nan(format, std::bit_cast<float>(bits));
    }
}

TEST_CASE("store: f32 of any bits") {
    Sequence sequence;
    for (int round = 0; round < 200000; ++round) {
        const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(sequence.next() >> 16));
        // As often as not near the range of the narrow formats.
        const float near = round % 2 == 0 ? value
                                          : std::ldexp(std::frexp(value, std::array<int, 1>{}.data()),
                                                       static_cast<int>(sequence.below(48)) - 28);
        for (const Format& format : formats()) {
            CAPTURE(plumb::name(format.dtype));
            CAPTURE(near);
            const std::uint32_t code = stored(format, near);
            REQUIRE(format.same(code, format.nearest(static_cast<double>(near))));
        }
    }
}

TEST_CASE("f32 passes through, other dtypes are refused") {
    alignas(16) std::array<std::byte, 16> element{};
    for (const float value : {1.0F, -0.0F, kInfinity, std::numeric_limits<float>::denorm_min()}) {
        plumb::store_f32(DType::f32, element.data(), value);
        CHECK(std::bit_cast<std::uint32_t>(plumb::load_f32(DType::f32, element.data())) ==
              std::bit_cast<std::uint32_t>(value));
    }
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::f64, DType::c64, DType::c128}) {
        const std::string given = "dtype " + std::string(plumb::name(dtype)) + " given";
        expect_error<ArgumentError>([&] { static_cast<void>(plumb::load_f32(dtype, element.data())); },
                                    {"load_f32", given, "allowed", "float8_e5m2"});
        expect_error<ArgumentError>([&] { plumb::store_f32(dtype, element.data(), 1.0F); },
                                    {"store_f32", given, "allowed", "bfloat16"});
    }
}
