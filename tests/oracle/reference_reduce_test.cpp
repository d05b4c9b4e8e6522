#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/oracle/reference.h>

#include "oracle/elements.h"

using namespace plumb;
using namespace plumb::oracle::reference;
using oracle::load_real;
using oracle::store_real;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One element of a narrow float per rank, given by its bits.
template <class Bits>
Bits reduced(DType dtype, const std::vector<Bits>& bits, Reduction reduction) {
    PerRank in;
    for (const Bits value : bits) {
        Tensor tensor = Tensor::empty({1}, dtype);
        std::memcpy(tensor.bytes(), &value, sizeof value);
        in.push_back(tensor);
    }
    const Tensor out = reduce(in, reduction);
    Bits result;
    std::memcpy(&result, out.bytes(), sizeof result);
    return result;
}

template <class T>
T reduced_value(const std::vector<T>& values, Reduction reduction) {
    PerRank in;
    for (const T value : values)
        in.push_back(Tensor::of<T>({1}, {value}));
    return reduce(in, reduction).to_vector<T>()[0];
}

std::uint8_t encoded(DType dtype, float value) {
    std::byte code{};
    store_real(dtype, &code, value);
    return std::to_integer<std::uint8_t>(code);
}
double decoded(DType dtype, std::uint8_t code) {
    const auto byte = static_cast<std::byte>(code);
    return load_real(dtype, &byte);
}

}  // namespace

TEST_CASE("which operator goes with which type") {
    const auto count = [](DType dtype) {
        int defined = 0;
        for (int r = 0; r < 8; ++r)
            defined += is_defined(static_cast<Reduction>(r), dtype) ? 1 : 0;
        return defined;
    };
    CHECK(count(DType::boolean) == 3);
    CHECK(count(DType::u8) == 7);
    CHECK(count(DType::i64) == 7);
    CHECK(count(DType::bf16) == 5);
    CHECK(count(DType::f64) == 5);
    CHECK(count(DType::c64) == 2);
    CHECK(is_defined(Reduction::avg, DType::c128));
    CHECK_FALSE(is_defined(Reduction::product, DType::c128));
    CHECK_FALSE(is_defined(Reduction::avg, DType::i32));
    CHECK_FALSE(is_defined(Reduction::band, DType::f32));
    CHECK_FALSE(is_defined(Reduction::sum, DType::boolean));
    CHECK_THROWS_AS((void)reduce({Tensor::zeros({1}, DType::c64)}, Reduction::max), ArgumentError);
    CHECK(reduction_from_name("BXOR") == Reduction::bxor);
    CHECK_THROWS_AS((void)reduction_from_name("sum"), ArgumentError);
}

TEST_CASE("order: from the first rank on") {
    CHECK(reduced_value<float>({1e8F, 1.0F, -1e8F}, Reduction::sum) == 0.0F);
    CHECK(reduced_value<float>({1e8F, -1e8F, 1.0F}, Reduction::sum) == 1.0F);
    CHECK(reduced_value<double>({1e17, 1.0, -1e17}, Reduction::sum) == 0.0);
    CHECK(std::signbit(reduced_value<float>({-0.0F, -0.0F}, Reduction::sum)));
    CHECK_FALSE(std::signbit(reduced_value<float>({-0.0F, 0.0F}, Reduction::sum)));
    CHECK(reduced_value<float>({1.0F, 1.0F, 0.0F}, Reduction::avg) == 2.0F / 3.0F);
    CHECK(reduced_value<float>({0x1p100F, 0x1p100F}, Reduction::product) ==
          std::numeric_limits<float>::infinity());
}

TEST_CASE("narrow floats are summed in f32 and rounded once") {
    // 1 + 2^-11 + 2^-11 in f16: each addend alone is half an ulp of 1 and would be lost.
    CHECK(reduced<std::uint16_t>(DType::f16, {0x3c00, 0x1000, 0x1000}, Reduction::sum) == 0x3c01);
    // bf16: 1 + 2^-8 + 2^-8 = 1 + 2^-7.
    CHECK(reduced<std::uint16_t>(DType::bf16, {0x3f80, 0x3b80, 0x3b80}, Reduction::sum) == 0x3f81);
    // e4m3fn: 1 + 2^-4 + 2^-4 = 1.125.
    CHECK(reduced<std::uint8_t>(DType::f8_e4m3fn, {0x38, 0x18, 0x18}, Reduction::sum) == 0x39);
    CHECK(reduced<std::uint8_t>(DType::f8_e4m3fn, {0x7e, 0x7e}, Reduction::sum) ==
          0x7f);  // 896: no such number
    CHECK(reduced<std::uint8_t>(DType::f8_e5m2, {0x7b, 0x7b}, Reduction::sum) == 0x7c);  // infinity
    CHECK(reduced<std::uint16_t>(DType::f16, {0x7bff, 0x7bff, 0x0000}, Reduction::avg) == 0x7955);  // 43669.3
}

TEST_CASE("integers wrap") {
    CHECK(reduced_value<std::int8_t>({127, 1}, Reduction::sum) == -128);
    CHECK(reduced_value<std::uint8_t>({200, 100}, Reduction::sum) == 44);
    CHECK(reduced_value<std::int16_t>({300, 300}, Reduction::product) ==
          static_cast<std::int16_t>(90000 - 65536));
    CHECK(reduced_value<std::int32_t>({INT32_MAX, INT32_MAX}, Reduction::product) == 1);
    CHECK(reduced_value<std::int64_t>({INT64_MAX, 2}, Reduction::sum) == INT64_MIN + 1);
    CHECK(reduced_value<std::int64_t>({INT64_MIN, -1}, Reduction::product) == INT64_MIN);
    CHECK(reduced_value<std::int8_t>({-3, 2}, Reduction::min) == -3);
    CHECK(reduced_value<std::uint8_t>({253, 2}, Reduction::max) == 253);
    CHECK(reduced_value<std::int32_t>({-1, 6}, Reduction::band) == 6);
    CHECK(reduced_value<std::int32_t>({5, 6}, Reduction::bxor) == 3);
    CHECK(reduced<std::uint8_t>(DType::boolean, {1, 0}, Reduction::bor) == 1);
    CHECK(reduced<std::uint8_t>(DType::boolean, {1, 1}, Reduction::bxor) == 0);
    CHECK(reduced<std::uint8_t>(DType::boolean, {1, 0}, Reduction::band) == 0);
}

TEST_CASE("MIN and MAX: NaN wins, -0 is below +0") {
    const float nan = std::nanf("7");
    for (const Reduction reduction : {Reduction::min, Reduction::max}) {
        CHECK(std::isnan(reduced_value<float>({1.0F, nan, 2.0F}, reduction)));
        CHECK(std::isnan(reduced_value<float>({nan, 1.0F}, reduction)));
        CHECK(reduced<std::uint32_t>(DType::f32, {0xffc12345}, reduction) == 0x7fc00000);  // canonical
        CHECK(std::signbit(reduced_value<float>({-0.0F, -0.0F}, reduction)));
    }
    CHECK(std::signbit(reduced_value<float>({0.0F, -0.0F}, Reduction::min)));
    CHECK(std::signbit(reduced_value<float>({-0.0F, 0.0F}, Reduction::min)));
    CHECK_FALSE(std::signbit(reduced_value<float>({0.0F, -0.0F}, Reduction::max)));
    CHECK_FALSE(std::signbit(reduced_value<float>({-0.0F, 0.0F}, Reduction::max)));
    CHECK(reduced_value<double>({-kInfinity, 1.0}, Reduction::min) == -kInfinity);
    CHECK(reduced_value<float>({-3.0F, 2.0F}, Reduction::max) == 2.0F);
}

TEST_CASE("complex, scattered and dict reductions") {
    using Complex = std::complex<float>;
    CHECK(reduced_value<Complex>({{1, 2}, {3, -4}}, Reduction::sum) == Complex(4, -2));
    CHECK(reduced_value<Complex>({{1, 2}, {3, -4}}, Reduction::avg) == Complex(2, -1));

    const Tensor rows = Tensor::of<std::int32_t>({3, 1}, {1, 2, 3});
    const PerRank in = {rows, rows, rows};
    CHECK(reduce_scatter(in, Reduction::sum)[2].to_vector<std::int32_t>() == std::vector<std::int32_t>{9});
    const PerRank split = reduce_scatter(in, Reduction::sum, {0, 1, 2});
    CHECK(split[0].shape() == Shape{0, 1});
    CHECK(split[2].to_vector<std::int32_t>() == std::vector<std::int32_t>{6, 9});
    CHECK_THROWS_AS((void)reduce_scatter({rows, rows}, Reduction::sum), ArgumentError);
    CHECK_THROWS_AS((void)reduce_scatter(in, Reduction::sum, {1, 1, 2}), ArgumentError);
    CHECK_THROWS_AS((void)reduce_scatter(in, Reduction::sum, {4, -1, 0}), ArgumentError);

    const auto dicts =
        all_reduce_dict({{{"b", 1.0}, {"B", 0.1}}, {{"x", 2.0}, {"a", 3.0}}}, Reduction::sum, DType::f32);
    CHECK(dicts[0] == Dict{{"B", static_cast<double>(0.1F + 3.0F)}, {"b", 3.0}});
    CHECK(dicts[1] == Dict{{"a", static_cast<double>(0.1F + 3.0F)}, {"x", 3.0}});
    CHECK(all_reduce_dict({{}, {}}, Reduction::max, DType::f64) == std::vector<Dict>{{}, {}});
    CHECK_THROWS_AS((void)all_reduce_dict({{{"a", 1.0}}, {}}, Reduction::sum, DType::f32), ArgumentError);
}

TEST_CASE("8-bit floats") {
    CHECK(decoded(DType::f8_e4m3fn, 0x38) == 1.0);
    CHECK(decoded(DType::f8_e4m3fn, 0x01) == 0x1p-9);
    CHECK(decoded(DType::f8_e4m3fn, 0x08) == 0x1p-6);
    CHECK(decoded(DType::f8_e4m3fn, 0xfe) == -448.0);
    CHECK(std::isnan(decoded(DType::f8_e4m3fn, 0xff)));
    CHECK(decoded(DType::f8_e5m2, 0x3c) == 1.0);
    CHECK(decoded(DType::f8_e5m2, 0x01) == 0x1p-16);
    CHECK(decoded(DType::f8_e5m2, 0x7b) == 57344.0);
    CHECK(decoded(DType::f8_e5m2, 0xfc) == -kInfinity);
    CHECK(std::isnan(decoded(DType::f8_e5m2, 0x7d)));
    for (const DType dtype : {DType::f8_e4m3fn, DType::f8_e5m2})
        for (unsigned code = 0; code < 256; ++code) {
            const double value = decoded(dtype, static_cast<std::uint8_t>(code));
            if (!std::isnan(value)) CHECK(encoded(dtype, static_cast<float>(value)) == code);
        }
    CHECK(encoded(DType::f8_e4m3fn, 464.0F) == 0x7e);  // a tie: down to the even 448
    CHECK(encoded(DType::f8_e4m3fn, 464.01F) == 0x7f);
    CHECK(encoded(DType::f8_e4m3fn, -1e9F) == 0xff);
    CHECK(encoded(DType::f8_e5m2, 61439.0F) == 0x7b);
    CHECK(encoded(DType::f8_e5m2, 61440.0F) == 0x7c);   // a tie: up to the even infinity
    CHECK(encoded(DType::f8_e4m3fn, 1.0625F) == 0x38);  // ties to even
    CHECK(encoded(DType::f8_e4m3fn, 1.1875F) == 0x3a);
    CHECK(encoded(DType::f8_e4m3fn, 0x1p-10F) == 0x00);
    CHECK(encoded(DType::f8_e4m3fn, -0x1.8p-10F) == 0x81);
    CHECK(encoded(DType::f8_e5m2, std::numeric_limits<float>::quiet_NaN()) == 0x7e);
}
