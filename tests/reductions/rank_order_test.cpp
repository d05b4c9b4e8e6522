#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "comm/rank_order.h"
#include "reductions/elements.h"

using namespace plumb;
using test::Bytes;

namespace {

/// Every rank's elements → the reduced ones.
Bytes reduce(DType dtype, ReduceOp op, const std::vector<Bytes>& ranks) {
    std::vector<const std::byte*> inputs;
    for (const Bytes& rank : ranks)
        inputs.push_back(rank.data());
    Bytes out(ranks[0].size(), std::byte{0xA5});
    comm::reduce_in_rank_order(out.data(), inputs, static_cast<std::int64_t>(out.size() / size_of(dtype)),
                               dtype, op);
    return out;
}

/// One element per rank, given and returned by its bits.
template <class Bits>
Bits reduce_one(DType dtype, ReduceOp op, const std::vector<Bits>& ranks) {
    REQUIRE(sizeof(Bits) == size_of(dtype));
    std::vector<Bytes> inputs(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r)
        test::append(inputs[r], ranks[r]);
    return test::element_at<Bits>(reduce(dtype, op, inputs), 0);
}

float reduce_floats(ReduceOp op, const std::vector<float>& ranks) {
    return reduce_one<float>(DType::f32, op, ranks);
}

/// Of a narrow format: numbers in (rounded to it), code out.
std::uint32_t reduce_narrow(const Format& format, ReduceOp op, const std::vector<double>& ranks) {
    std::vector<Bytes> inputs(ranks.size());
    for (std::size_t r = 0; r < ranks.size(); ++r)
        test::append_real(inputs[r], format.dtype, ranks[r]);
    return format.read(reduce(format.dtype, op, inputs).data());
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan32 = 0x7FC00000;
constexpr std::uint64_t kNan64 = 0x7FF8000000000000;

std::uint32_t nan_code(DType dtype) {
    if (dtype == DType::f16) return 0x7E00;
    return dtype == DType::bf16 ? 0x7FC0 : 0x7F;
}

std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

}  // namespace

TEST_CASE("small whole numbers: every dtype and operator, any number of ranks and elements") {
    // More elements than one tile holds, and such that the last tile is short.
    for (const std::int64_t count : {0, 1, 7, 4099, 40001}) {
        for (const int ranks : {1, 2, 3, 5}) {
            for (const DType dtype : kAllDTypes) {
                for (const ReduceOp op : test::operators_of(dtype)) {
                    CAPTURE(count);
                    CAPTURE(ranks);
                    CAPTURE(name(dtype));
                    CAPTURE(name(op));
                    std::vector<Bytes> inputs;
                    for (int r = 0; r < ranks; ++r)
                        inputs.push_back(test::small_values(dtype, r, count));
                    const bool right =
                        reduce(dtype, op, inputs) == test::reduced_small_values(dtype, op, ranks, 0, count);
                    CHECK(right);
                }
            }
        }
    }
}

TEST_CASE("out may be any of the inputs, and nothing need be aligned") {
    constexpr std::int64_t kCount = 5003;
    for (const DType dtype : kAllDTypes) {
        const ReduceOp op = test::operators_of(dtype).front();
        const Bytes wanted = test::reduced_small_values(dtype, op, 3, 0, kCount);
        for (std::size_t own = 0; own < 3; ++own) {
            CAPTURE(name(dtype));
            CAPTURE(own);
            std::vector<Bytes> shifted;
            std::vector<const std::byte*> inputs;
            for (int r = 0; r < 3; ++r) {
                shifted.push_back({std::byte{0xA5}});
                const Bytes values = test::small_values(dtype, r, kCount);
                shifted.back().insert(shifted.back().end(), values.begin(), values.end());
                shifted.back().push_back(std::byte{0xA5});
            }
            const std::vector<Bytes> before = shifted;
            for (const Bytes& each : shifted)
                inputs.push_back(each.data() + 1);
            comm::reduce_in_rank_order(shifted[own].data() + 1, inputs, kCount, dtype, op);
            const Bytes result(shifted[own].begin() + 1, shifted[own].end() - 1);
            CHECK((result == wanted));
            CHECK(shifted[own].front() == std::byte{0xA5});
            CHECK(shifted[own].back() == std::byte{0xA5});
            CHECK((shifted[(own + 1) % 3] == before[(own + 1) % 3]));
            CHECK((shifted[(own + 2) % 3] == before[(own + 2) % 3]));
        }
    }
}

TEST_CASE("sums are taken in rank order, from the first rank on") {
    // 1e8 + 1 is 1e8 in f32.
    CHECK(reduce_floats(ReduceOp::sum, {1e8F, 1, -1e8F, 1}) == 1);
    CHECK(reduce_floats(ReduceOp::sum, {1e8F, -1e8F, 1, 1}) == 2);
    CHECK(reduce_floats(ReduceOp::sum, {1, 1e8F, -1e8F, 1}) == 1);
    CHECK(reduce_one<double>(DType::f64, ReduceOp::sum, {1e8, 1, -1e8, 1}) == 2);
    CHECK(reduce_one<double>(DType::f64, ReduceOp::sum, {1e17, 1, -1e17, 1}) == 1);
    // 2^100 * 2^100 overflows f32.
    CHECK(reduce_floats(ReduceOp::product, {0x1p100F, 0x1p100F, 0x1p-100F}) == kInfinity);
    CHECK(reduce_floats(ReduceOp::product, {0x1p100F, 0x1p-100F, 0x1p100F}) == 0x1p100F);
    CHECK(reduce_floats(ReduceOp::product, {0x1p-100F, 0x1p-100F, 0x1p100F}) == 0);

    using Complex = std::complex<float>;
    const auto sum =
        reduce_one<Complex>(DType::c64, ReduceOp::sum, {{1e8F, 1}, {1, 1e8F}, {-1e8F, -1e8F}, {1, 1}});
    CHECK(sum == Complex{1, 1});
}

TEST_CASE("f16, bf16 and 8-bit floats are accumulated in f32 and rounded once") {
    // `big` is the least number whose neighbour is 2 away: +1 is a tie to the even big, +3 to big + 4.
    for (const Format& format : formats()) {
        CAPTURE(name(format.dtype));
        const double big = std::ldexp(1, format.mantissa_bits + 1);
        const auto sum = [&](std::vector<double> ranks) {
            return format.decode(reduce_narrow(format, ReduceOp::sum, ranks));
        };
        CHECK(sum({big}) == big);
        CHECK(sum({big, 1}) == big);
        CHECK(sum({big, 1, 1}) == big + 2);     // rounded at each step: big
        CHECK(sum({big, 1, 1, 1}) == big + 4);  // at each step: big
        CHECK(sum({1, 1, 1, big}) == big + 4);
        CHECK(sum({big, 1, -1}) == big);
        CHECK(sum({big, 1, -big}) == 1);  // at each step: 0
    }
    // Powers of 1 + k steps; rounding at each step gives one step less (8 for the last, 1.75 for the one
    // before).
    struct Power {
        DType dtype;
        double factor;
        std::size_t ranks;
        double wanted;
    };
    for (const Power& power : {Power{DType::f16, 1 + 15 * 0x1p-10, 3, 1 + 46 * 0x1p-10},  // 1 + 45.66 steps
                               Power{DType::bf16, 1 + 5 * 0x1p-7, 3, 1 + 16 * 0x1p-7},    // 1 + 15.59 steps
                               Power{DType::f8_e4m3fn, 1.125, 4, 1.625},                  // 1.6018
                               Power{DType::f8_e5m2, 1.75, 4, 10}}) {                     // 9.378
        CAPTURE(name(power.dtype));
        const Format& format = *test::narrow_format(power.dtype);
        const std::vector<double> ranks(power.ranks, power.factor);
        CHECK(format.decode(reduce_narrow(format, ReduceOp::product, ranks)) == power.wanted);
    }
}

TEST_CASE("f16 and bf16 do not overflow on the way") {
    const Format& f16 = *test::narrow_format(DType::f16);
    CHECK(f16.decode(reduce_narrow(f16, ReduceOp::sum, {65504, 65504, -65504})) == 65504);
    CHECK(f16.decode(reduce_narrow(f16, ReduceOp::avg, {65504, 65504, 65504})) == 65504);
    CHECK(reduce_narrow(f16, ReduceOp::sum, {65504, 65504}) == 0x7C00);
    CHECK(reduce_narrow(f16, ReduceOp::sum, {65504, 15}) == 0x7BFF);
    CHECK(reduce_narrow(f16, ReduceOp::sum, {65504, 16}) == 0x7C00);  // a tie, to the even infinity
    CHECK(reduce_narrow(f16, ReduceOp::sum, {-65504, -16}) == 0xFC00);
    const Format& e5m2 = *test::narrow_format(DType::f8_e5m2);
    CHECK(reduce_narrow(e5m2, ReduceOp::sum, {57344, 57344}) == 0x7C);
    CHECK(reduce_narrow(e5m2, ReduceOp::avg, {57344, 57344}) == 0x7B);
    // No infinity: overflow of either sign is the one NaN.
    const Format& e4m3fn = *test::narrow_format(DType::f8_e4m3fn);
    CHECK(reduce_narrow(e4m3fn, ReduceOp::sum, {448, 16}) == 0x7E);
    CHECK(reduce_narrow(e4m3fn, ReduceOp::sum, {448, 448}) == 0x7F);
    CHECK(reduce_narrow(e4m3fn, ReduceOp::sum, {-448, -448}) == 0x7F);
    CHECK(reduce_narrow(e4m3fn, ReduceOp::avg, {-448, -448}) == 0xFE);
}

TEST_CASE("narrow sums of two: all pairs of 8-bit floats, many of the others") {
    for (const Format& format : formats()) {
        CAPTURE(name(format.dtype));
        const bool all = format.codes() == 256;
        Sequence sequence;
        std::vector<Bytes> inputs(2);
        std::vector<std::uint32_t> wanted;
        for (std::uint32_t i = 0; i < 65536; ++i) {
            std::uint32_t a = i / 256;
            std::uint32_t b = i % 256;
            if (!all) {
                a = static_cast<std::uint32_t>(sequence.below(format.codes()));
                b = static_cast<std::uint32_t>(sequence.below(format.codes()));
                if (i % 2 == 0) b = a ^ (b & 0x83FFU);  // near each other
            }
            for (const auto& [input, code] : {std::pair{&inputs[0], a}, std::pair{&inputs[1], b}}) {
                input->resize(input->size() + size_of(format.dtype));
                format.write(input->data() + input->size() - size_of(format.dtype), code);
            }
            const double sum = format.decode(a) + format.decode(b);
            // -0 only if both are; every other zero sum is +0.
            const double in_f32 = static_cast<double>(static_cast<float>(sum));
            wanted.push_back(std::isnan(in_f32) ? nan_code(format.dtype) : format.nearest(in_f32));
            if (std::isnan(format.decode(wanted.back()))) wanted.back() = nan_code(format.dtype);
        }
        const Bytes sums = reduce(format.dtype, ReduceOp::sum, inputs);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            const std::uint32_t got = format.read(sums.data() + i * size_of(format.dtype));
            if (got != wanted[i]) {
                CAPTURE(i);
                REQUIRE(got == wanted[i]);
            }
        }
    }
}

TEST_CASE("least and greatest: all pairs of 8-bit floats") {
    for (const DType dtype : {DType::f8_e4m3fn, DType::f8_e5m2}) {
        const Format& format = *test::narrow_format(dtype);
        for (std::uint32_t a = 0; a < 256; ++a) {
            for (std::uint32_t b = 0; b < 256; ++b) {
                const double x = format.decode(a);
                const double y = format.decode(b);
                std::uint32_t least = x < y || (x == y && std::signbit(x)) ? a : b;
                std::uint32_t greatest = x > y || (x == y && !std::signbit(x)) ? a : b;
                if (std::isnan(x) || std::isnan(y)) least = greatest = 0x7F;
                const auto code = [&](ReduceOp op) {
                    std::byte in[2] = {static_cast<std::byte>(a), static_cast<std::byte>(b)};
                    std::byte out{};
                    const std::byte* inputs[2] = {&in[0], &in[1]};
                    comm::reduce_in_rank_order(&out, inputs, 1, dtype, op);
                    return std::to_integer<std::uint32_t>(out);
                };
                if (code(ReduceOp::min) != least || code(ReduceOp::max) != greatest) {
                    CAPTURE(a);
                    CAPTURE(b);
                    REQUIRE(code(ReduceOp::min) == least);
                    REQUIRE(code(ReduceOp::max) == greatest);
                }
            }
        }
    }
}

TEST_CASE("least and greatest: NaN from any rank, -0 below +0, infinities") {
    for (std::size_t place = 0; place < 3; ++place) {
        for (const std::uint32_t nan : {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU}) {
            std::vector<std::uint32_t> ranks = {bits(1), bits(-kInfinity), bits(kInfinity)};
            ranks[place] = nan;
            CHECK(reduce_one(DType::f32, ReduceOp::min, ranks) == kNan32);
            CHECK(reduce_one(DType::f32, ReduceOp::max, ranks) == kNan32);
        }
        std::vector<std::uint64_t> wide(3, 0x3FF0000000000000);
        wide[place] = 0xFFF0000000000001;
        CHECK(reduce_one(DType::f64, ReduceOp::min, wide) == kNan64);
        CHECK(reduce_one(DType::f64, ReduceOp::max, wide) == kNan64);
        for (const auto nan : {std::uint16_t{0x7E01}, std::uint16_t{0xFC01}}) {
            std::vector<std::uint16_t> half(3, 0xBC00);
            half[place] = nan;
            CHECK(reduce_one(DType::f16, ReduceOp::min, half) == 0x7E00);
            CHECK(reduce_one(DType::f16, ReduceOp::max, half) == 0x7E00);
        }
        for (const auto nan : {std::uint16_t{0x7F81}, std::uint16_t{0xFFFF}}) {
            std::vector<std::uint16_t> brain(3, 0x3F80);
            brain[place] = nan;
            CHECK(reduce_one(DType::bf16, ReduceOp::min, brain) == 0x7FC0);
            CHECK(reduce_one(DType::bf16, ReduceOp::max, brain) == 0x7FC0);
        }
    }
    CHECK(bits(reduce_floats(ReduceOp::min, {0.0F, -0.0F})) == 0x80000000);
    CHECK(bits(reduce_floats(ReduceOp::min, {-0.0F, 0.0F})) == 0x80000000);
    CHECK(bits(reduce_floats(ReduceOp::max, {0.0F, -0.0F})) == 0);
    CHECK(bits(reduce_floats(ReduceOp::max, {-0.0F, 0.0F})) == 0);
    CHECK(bits(reduce_floats(ReduceOp::max, {-0.0F, -0.0F})) == 0x80000000);
    CHECK(reduce_floats(ReduceOp::min, {3, -kInfinity, kInfinity}) == -kInfinity);
    CHECK(reduce_floats(ReduceOp::max, {3, -kInfinity, kInfinity}) == kInfinity);
    CHECK(reduce_floats(ReduceOp::min, {-2, -3, -1}) == -3);
    CHECK(reduce_floats(ReduceOp::max, {-2, -3, -1}) == -1);
    // Subnormals, of both signs.
    CHECK(reduce_floats(ReduceOp::min, {0x1p-149F, 0x1p-148F}) == 0x1p-149F);
    CHECK(reduce_floats(ReduceOp::max, {-0x1p-149F, -0x1p-148F}) == -0x1p-149F);
    CHECK(reduce_one<double>(DType::f64, ReduceOp::min, {0x1p-1074, -0x1p-1074}) == -0x1p-1074);
}

TEST_CASE("sums, products and averages: NaN, infinities, zeros, subnormals") {
    const std::uint32_t signalling = 0xFF800001;
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::avg}) {
        CAPTURE(name(op));
        CHECK(reduce_one(DType::f32, op, std::vector{signalling}) == kNan32);
        CHECK(reduce_one(DType::f32, op, std::vector{bits(1), signalling}) == kNan32);
        CHECK(reduce_one(DType::f32, op, std::vector{signalling, bits(1)}) == kNan32);
        CHECK(reduce_one(DType::f64, op, std::vector<std::uint64_t>{0xFFF8000000000123}) == kNan64);
        CHECK(reduce_one(DType::f16, op, std::vector<std::uint16_t>{0xFE01, 0x3C00}) == 0x7E00);
        CHECK(reduce_one(DType::bf16, op, std::vector<std::uint16_t>{0x3F80, 0xFFC1}) == 0x7FC0);
        CHECK(reduce_one(DType::f8_e4m3fn, op, std::vector<std::uint8_t>{0xFF}) == 0x7F);
        CHECK(reduce_one(DType::f8_e5m2, op, std::vector<std::uint8_t>{0xFD, 0x3C}) == 0x7F);
    }
    CHECK(bits(reduce_floats(ReduceOp::sum, {kInfinity, -kInfinity})) == kNan32);
    CHECK(bits(reduce_floats(ReduceOp::product, {kInfinity, -0.0F})) == kNan32);
    CHECK(reduce_floats(ReduceOp::sum, {kInfinity, -1e38F}) == kInfinity);
    CHECK(reduce_floats(ReduceOp::avg, {-kInfinity, 1}) == -kInfinity);
    CHECK(bits(reduce_floats(ReduceOp::sum, {-0.0F})) == 0x80000000);
    CHECK(bits(reduce_floats(ReduceOp::sum, {-0.0F, -0.0F})) == 0x80000000);
    CHECK(bits(reduce_floats(ReduceOp::sum, {-0.0F, 0.0F})) == 0);
    CHECK(bits(reduce_floats(ReduceOp::sum, {1.0F, -1.0F})) == 0);
    CHECK(bits(reduce_floats(ReduceOp::product, {-1.0F, 0.0F})) == 0x80000000);
    CHECK(bits(reduce_floats(ReduceOp::avg, {-0.0F, -0.0F})) == 0x80000000);
    CHECK(reduce_floats(ReduceOp::sum, {0x1p-149F, 0x1p-149F}) == 0x1p-148F);
    CHECK(reduce_floats(ReduceOp::sum, {0x1p-126F, -0x1p-149F}) == 0x1p-126F - 0x1p-149F);
    CHECK(reduce_floats(ReduceOp::product, {0x1p-75F, 0x1p-74F}) == 0x1p-149F);
    CHECK(reduce_floats(ReduceOp::product, {0x1p-75F, 0x1p-75F}) == 0);  // a tie, to the even zero
    CHECK(reduce_one<double>(DType::f64, ReduceOp::sum, {0x1p-1074, 0x1p-1074}) == 0x1p-1073);
    CHECK(reduce_one(DType::f16, ReduceOp::sum, std::vector<std::uint16_t>{1, 1, 1}) == 3);
    CHECK(reduce_one(DType::bf16, ReduceOp::sum, std::vector<std::uint16_t>{1, 0x8003}) == 0x8002);
    CHECK(reduce_one(DType::f8_e4m3fn, ReduceOp::sum, std::vector<std::uint8_t>{7, 1}) == 8);
    const auto complex = reduce_one<std::complex<double>>(DType::c128, ReduceOp::avg, {{1, -0.0}, {2, -0.0}});
    CHECK(complex.real() == 1.5);
    CHECK(std::signbit(complex.imag()));
}

TEST_CASE("averages: the sum, divided once, rounded once") {
    CHECK(reduce_floats(ReduceOp::avg, {1, 0, 0}) == 1.0F / 3.0F);
    CHECK(reduce_floats(ReduceOp::avg, {5}) == 5);
    // n * (1 / n) is not 1 for these n.
    CHECK(reduce_floats(ReduceOp::avg, std::vector<float>(41, 1)) == 1);
    CHECK(reduce_one<double>(DType::f64, ReduceOp::avg, std::vector<double>(49, 1)) == 1);
    CHECK(reduce_floats(ReduceOp::avg, {3e38F, 3e38F}) == kInfinity);  // the sum is what overflows
    CHECK(reduce_floats(ReduceOp::avg, {0x1p-149F, 0}) == 0);          // half of the least: a tie, to even
    CHECK(reduce_floats(ReduceOp::avg, {0x1p-149F, 0x1p-148F}) == 0x1p-148F);
    CHECK(reduce_one<double>(DType::f64, ReduceOp::avg, {1, 0, 0}) == 1.0 / 3.0);
    const Format& f16 = *test::narrow_format(DType::f16);
    // 2048 + 1 = 2049 is no f16; its half 1024.5 is halfway between two, a third (683) is one.
    CHECK(f16.decode(reduce_narrow(f16, ReduceOp::avg, {2048, 1})) == 1024);
    CHECK(f16.decode(reduce_narrow(f16, ReduceOp::avg, {2048, 1, 0})) == 683);
    CHECK(f16.decode(reduce_narrow(f16, ReduceOp::avg, {2048, 3})) == 1026);  // 1025.5: a tie
    const Format& bf16 = *test::narrow_format(DType::bf16);
    CHECK(bf16.decode(reduce_narrow(bf16, ReduceOp::avg, {256, 2, 1})) == 86.5);  // 259 / 3 = 86.33…
}

TEST_CASE("integers wrap") {
    CHECK(reduce_one<std::int8_t>(DType::i8, ReduceOp::sum, {127, 1}) == -128);
    CHECK(reduce_one<std::int8_t>(DType::i8, ReduceOp::sum, {-128, -1}) == 127);
    CHECK(reduce_one<std::int8_t>(DType::i8, ReduceOp::product, {-128, -1}) == -128);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::sum, {200, 100}) == 44);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::product, {200, 2}) == 144);
    CHECK(reduce_one<std::int16_t>(DType::i16, ReduceOp::product, {300, 300}) == 24464);
    CHECK(reduce_one<std::int16_t>(DType::i16, ReduceOp::product, {-32768, -32768}) == 0);
    CHECK(reduce_one<std::int16_t>(DType::i16, ReduceOp::sum, {32767, 1, -32768}) == 0);
    constexpr auto kLeast32 = std::numeric_limits<std::int32_t>::min();
    constexpr auto kMost32 = std::numeric_limits<std::int32_t>::max();
    CHECK(reduce_one<std::int32_t>(DType::i32, ReduceOp::sum, {kMost32, 1}) == kLeast32);
    CHECK(reduce_one<std::int32_t>(DType::i32, ReduceOp::product, {65536, 65537}) == 65536);
    CHECK(reduce_one<std::int32_t>(DType::i32, ReduceOp::product, {kLeast32, -1}) == kLeast32);
    constexpr auto kLeast64 = std::numeric_limits<std::int64_t>::min();
    constexpr auto kMost64 = std::numeric_limits<std::int64_t>::max();
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::sum, {kMost64, 1}) == kLeast64);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::product, {kMost64, 2}) == -2);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::product,
                                   {std::int64_t{1} << 32, std::int64_t{1} << 32}) == 0);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::min, {0, kLeast64, kMost64}) == kLeast64);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::max, {0, kLeast64, kMost64}) == kMost64);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::min, {255, 1}) == 1);
    CHECK(reduce_one<std::int8_t>(DType::i8, ReduceOp::max, {-1, -128}) == -1);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::band, {0xF3, 0x3F, 0xFE}) == 0x32);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::bor, {0x80, 0x02, 0x02}) == 0x82);
    CHECK(reduce_one<std::uint8_t>(DType::u8, ReduceOp::bxor, {0xFF, 0x0F, 0xFF}) == 0x0F);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::bxor, {-1, 0x0123456789ABCDEF}) ==
          ~0x0123456789ABCDEF);
    CHECK(reduce_one<std::int64_t>(DType::i64, ReduceOp::band, {kLeast64 + 3, -2}) == kLeast64 + 2);
}

TEST_CASE("bool stays 0 and 1, whatever byte stands for true") {
    const auto one = [](ReduceOp op, std::vector<std::uint8_t> ranks) {
        return static_cast<int>(reduce_one(DType::boolean, op, ranks));
    };
    CHECK(one(ReduceOp::band, {2}) == 1);
    CHECK(one(ReduceOp::band, {2, 4}) == 1);
    CHECK(one(ReduceOp::band, {0xFF, 0}) == 0);
    CHECK(one(ReduceOp::bor, {0, 0x80}) == 1);
    CHECK(one(ReduceOp::bor, {0, 0}) == 0);
    CHECK(one(ReduceOp::bxor, {2, 1}) == 0);
    CHECK(one(ReduceOp::bxor, {2, 1, 0xFF}) == 1);
}
