#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/oracle/compare.h>

using namespace plumb;
using namespace plumb::oracle;

namespace {

template <class Bits>
Tensor from_bits(DType dtype, const std::vector<Bits>& bits) {
    Tensor tensor = Tensor::empty({static_cast<std::int64_t>(bits.size())}, dtype);
    std::memcpy(tensor.bytes(), bits.data(), bits.size() * sizeof(Bits));
    return tensor;
}

template <class Bits>
std::uint64_t distance(DType dtype, Bits a, Bits b) {
    const Tensor x = from_bits<Bits>(dtype, {a});
    const Tensor y = from_bits<Bits>(dtype, {b});
    CHECK(ulp_distance(dtype, y.bytes(), x.bytes()) == ulp_distance(dtype, x.bytes(), y.bytes()));
    return ulp_distance(dtype, x.bytes(), y.bytes());
}

}  // namespace

TEST_CASE("equal tensors, whatever their strides") {
    const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor b = Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6}).transpose(0, 1);
    const Comparison result = compare(a, b);
    CHECK(result.ok());
    CHECK(result.elements == 6);
    CHECK(result.wrong == 0);
    CHECK(result.describe().empty());
    CHECK(compare(Tensor::empty({0, 2}, DType::i8), Tensor::empty({0, 2}, DType::i8)).ok());
}

TEST_CASE("planted wrong bits are found where they are") {
    const Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    Tensor b = a.clone();
    b.data<float>()[4] = std::nextafter(5.0F, 9.0F);
    b.data<float>()[5] = std::nextafter(std::nextafter(6.0F, 0.0F), 0.0F);
    const Comparison result = compare(a, b);
    CHECK(result.verdict == Verdict::different);
    CHECK(result.wrong == 2);
    CHECK(result.first == 4);
    CHECK(result.index == std::vector<std::int64_t>{1, 1});
    CHECK(result.ulp == 1);
    CHECK(result.max_ulp == 2);
    CHECK(result.expected == "5 (0x40a00000)");
    CHECK(result.got == "5.0000005 (0x40a00001)");
    CHECK(result.describe() ==
          "2 of 6 wrong, first at [1, 1]: expected 5 (0x40a00000), got 5.0000005 (0x40a00001), 1 ulp");
}

TEST_CASE("every bit of every type counts") {
    for (const DType dtype : kAllDTypes) {
        if (dtype == DType::boolean) continue;
        CAPTURE(name(dtype));
        const Tensor a = Tensor::zeros({3}, dtype);
        for (std::size_t bit = 0; bit < size_of(dtype) * 8; ++bit) {
            Tensor b = a.clone();
            b.bytes()[size_of(dtype) + bit / 8] = static_cast<std::byte>(1U << (bit % 8));
            const Comparison result = compare(a, b);
            CHECK(result.wrong == 1);
            CHECK(result.first == 1);
            CHECK(result.ulp >= 1);
        }
    }
}

TEST_CASE("shape and dtype have verdicts of their own") {
    const Comparison shape = compare(Tensor::zeros({2, 3}, DType::f32), Tensor::zeros({3, 2}, DType::f32));
    CHECK(shape.verdict == Verdict::wrong_shape);
    CHECK(shape.describe() == "shape [2, 3] expected, got [3, 2]");
    const Comparison dtype = compare(Tensor::zeros({2}, DType::f16), Tensor::zeros({2}, DType::bf16));
    CHECK(dtype.verdict == Verdict::wrong_dtype);
    CHECK(dtype.describe() == "dtype float16 expected, got bfloat16");
    CHECK(compare(Tensor::zeros({}, DType::f32), Tensor::zeros({1}, DType::f32)).verdict ==
          Verdict::wrong_shape);
    CHECK_THROWS_AS((void)compare(Tensor(), Tensor::zeros({1}, DType::f32)), ArgumentError);
}

TEST_CASE("any NaN is any NaN, no number is") {
    const auto f32 = [](std::uint32_t a, std::uint32_t b) {
        return compare(from_bits<std::uint32_t>(DType::f32, {a}), from_bits<std::uint32_t>(DType::f32, {b}));
    };
    CHECK(f32(0x7fc00000, 0xffc00001).ok());
    CHECK(f32(0x7f800001, 0x7fffffff).ok());        // a signalling one
    CHECK_FALSE(f32(0x7fc00000, 0x7f800000).ok());  // infinity
    CHECK_FALSE(f32(0x7f800000, 0xff800000).ok());
    const Comparison one = f32(0x3f800000, 0x7fc00000);
    CHECK(one.wrong == 1);
    CHECK(one.ulp == kNoUlp);
    CHECK(one.describe().find("a NaN against a number") != std::string::npos);

    const auto u16 = [](DType dtype, std::uint16_t a, std::uint16_t b) {
        return compare(from_bits<std::uint16_t>(dtype, {a}), from_bits<std::uint16_t>(dtype, {b})).ok();
    };
    CHECK(u16(DType::f16, 0x7e00, 0xfc01));
    CHECK_FALSE(u16(DType::f16, 0x7e00, 0x7c00));
    CHECK(u16(DType::bf16, 0x7fc0, 0xff81));
    CHECK_FALSE(u16(DType::bf16, 0x7fc0, 0x7f80));
    const auto u8 = [](DType dtype, std::uint8_t a, std::uint8_t b) {
        return compare(from_bits<std::uint8_t>(dtype, {a}), from_bits<std::uint8_t>(dtype, {b})).ok();
    };
    CHECK(u8(DType::f8_e4m3fn, 0x7f, 0xff));
    CHECK_FALSE(u8(DType::f8_e4m3fn, 0x7f, 0x7e));
    CHECK(u8(DType::f8_e5m2, 0x7d, 0xff));
    CHECK_FALSE(u8(DType::f8_e5m2, 0x7d, 0x7c));
}

TEST_CASE("complex numbers, component by component") {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const auto c64 = [](std::complex<float> a, std::complex<float> b) {
        return compare(Tensor::of<std::complex<float>>({1}, {a}), Tensor::of<std::complex<float>>({1}, {b}));
    };
    CHECK(c64({kNan, 1}, {-kNan, 1}).ok());
    CHECK_FALSE(c64({kNan, 1}, {kNan, 2}).ok());
    CHECK_FALSE(c64({kNan, 1}, {1, kNan}).ok());
    const Comparison result = c64({1, 2}, {std::nextafter(1.0F, 2.0F), std::nextafter(2.0F, 1.0F)});
    CHECK(result.wrong == 1);
    CHECK(result.ulp == 1);
    CHECK(result.expected == "1 + 2i (0x3f800000, 0x40000000)");
}

TEST_CASE("zeros have signs") {
    const Comparison result = compare(Tensor::of<double>({1}, {0.0}), Tensor::of<double>({1}, {-0.0}));
    CHECK(result.wrong == 1);
    CHECK(result.ulp == 1);
    CHECK(result.got == "-0 (0x8000000000000000)");
}

TEST_CASE("distances") {
    CHECK(distance<std::uint32_t>(DType::f32, 0x3f800000, 0x3f800003) == 3);
    CHECK(distance<std::uint32_t>(DType::f32, 0x00000001, 0x80000001) == 3);  // over +0 and -0
    CHECK(distance<std::uint32_t>(DType::f32, 0x7f7fffff, 0x7f800000) == 1);  // to infinity
    CHECK(distance<std::uint64_t>(DType::f64, 0xffefffffffffffff, 0x7fefffffffffffff) == 0xffdfffffffffffff);
    CHECK(distance<std::uint16_t>(DType::f16, 0x3c00, 0x3bff) == 1);
    CHECK(distance<std::uint16_t>(DType::bf16, 0x8000, 0x0000) == 1);
    CHECK(distance<std::uint8_t>(DType::f8_e4m3fn, 0x38, 0x40) == 8);  // 1 and 2: one binade of 8 steps
    CHECK(distance<std::uint8_t>(DType::f8_e5m2, 0x3c, 0x40) == 4);
    CHECK(distance<std::uint8_t>(DType::u8, 0, 255) == 255);
    CHECK(distance<std::int8_t>(DType::i8, -128, 127) == 255);
    CHECK(distance<std::int64_t>(DType::i64, INT64_MIN, INT64_MAX) == UINT64_MAX);
    CHECK(distance<std::uint8_t>(DType::boolean, 0, 1) == 1);
}

TEST_CASE("texts read back to the same value") {
    const auto text = [](DType dtype, std::uint64_t bits) {
        std::byte element[16] = {};
        std::memcpy(element, &bits, 8);
        return element_text(dtype, element);
    };
    CHECK(text(DType::f32, 0x3dcccccd) == "0.1 (0x3dcccccd)");
    CHECK(text(DType::f64, 0x3fb999999999999a) == "0.1 (0x3fb999999999999a)");
    CHECK(text(DType::f16, 0x3c00) == "1 (0x3c00)");
    CHECK(text(DType::bf16, 0xbf80) == "-1 (0xbf80)");
    CHECK(text(DType::f8_e4m3fn, 0x7e) == "448 (0x7e)");
    CHECK(text(DType::f8_e5m2, 0x01) == "1.5258789e-05 (0x01)");
    CHECK(text(DType::i16, 0xffff) == "-1 (0xffff)");
    CHECK(text(DType::u8, 200) == "200 (0xc8)");
    CHECK(text(DType::boolean, 1) == "true (0x01)");
    CHECK(text(DType::f32, 0x7f800000) == "inf (0x7f800000)");
}

TEST_CASE("the rounding rule holds up to its bound and not beyond") {
    // n = 3, m = 1 + 2 + 4 = 7, eps = 2^-23: 21 * 2^-23 in all. At 1.0 one ulp is 2^-23.
    Rule rule{CompareKind::rounding, Rule::Magnitude::sum, DType::f32, {}};
    for (const float value : {1.0F, -2.0F, 4.0F})
        rule.inputs.push_back(Tensor::of<float>({1}, {value}));
    const auto judge = [&](float expected, float actual) {
        return compare(Tensor::of<float>({1}, {expected}), Tensor::of<float>({1}, {actual}), rule);
    };
    CHECK(judge(1.0F, 1.0F + 21 * 0x1p-23F).ok());
    CHECK(judge(1.0F, 1.0F + 21 * 0x1p-23F).max_ulp == 21);
    CHECK(judge(1.0F + 21 * 0x1p-23F, 1.0F).ok());
    const Comparison beyond = judge(1.0F, 1.0F + 22 * 0x1p-23F);
    CHECK(beyond.wrong == 1);
    CHECK(beyond.ulp == 22);
    CHECK_FALSE(judge(1.0F + 22 * 0x1p-23F, 1.0F).ok());

    // Product: m = 8, bound 24 * 2^-23; at 8.0 one ulp is 2^-20.
    rule.magnitude = Rule::Magnitude::product;
    CHECK(judge(-8.0F, -8.0F - 3 * 0x1p-20F).ok());
    CHECK_FALSE(judge(-8.0F, -8.0F - 4 * 0x1p-20F).ok());

    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    CHECK(judge(kInfinity, kInfinity).ok());
    CHECK_FALSE(judge(kInfinity, -kInfinity).ok());
    CHECK_FALSE(judge(kInfinity, std::numeric_limits<float>::max()).ok());
    CHECK_FALSE(judge(1.0F, std::nanf("")).ok());
    CHECK(judge(std::nanf(""), -std::nanf("1")).ok());
    rule.inputs[0] = Tensor::of<float>({1}, {kInfinity});
    CHECK_FALSE(judge(1.0F, 1.0F + 0x1p-23F).ok());
}

TEST_CASE("the rounding rule in the type reduced in, per component, of the right shape") {
    // A dict reduced in f32 and returned as doubles: eps is that of f32.
    Rule rule{CompareKind::rounding, Rule::Magnitude::sum, DType::f32, {}};
    for (int i = 0; i < 3; ++i)
        rule.inputs.push_back(Tensor::of<double>({1}, {1.0}));
    const auto judge = [&](double actual) {
        return compare(Tensor::of<double>({1}, {3.0}), Tensor::of<double>({1}, {actual}), rule).ok();
    };
    CHECK(judge(3.0 + 9 * 0x1p-23));
    CHECK_FALSE(judge(3.0 + 9.001 * 0x1p-23));
    rule.dtype = DType::f64;
    CHECK_FALSE(judge(3.0 + 9 * 0x1p-23));

    using Complex = std::complex<float>;
    Rule complex{CompareKind::rounding, Rule::Magnitude::sum, DType::c64, {}};
    for (int i = 0; i < 3; ++i)
        complex.inputs.push_back(Tensor::of<Complex>({1}, {Complex(1, 0)}));
    const auto judge_complex = [&](Complex actual) {
        return compare(Tensor::of<Complex>({1}, {Complex(3, 0)}), Tensor::of<Complex>({1}, {actual}), complex)
            .ok();
    };
    CHECK(judge_complex({3 + 8 * 0x1p-23F, 0}));
    CHECK_FALSE(judge_complex({3, 0x1p-23F}));  // nothing imaginary went in

    rule.inputs[0] = Tensor::of<double>({2}, {1.0, 1.0});
    CHECK_THROWS_AS((void)judge(3.0), ArgumentError);
    Rule integers{CompareKind::rounding, Rule::Magnitude::sum, DType::i32, {}};
    const Tensor number = Tensor::of<std::int32_t>({1}, {1});
    CHECK_THROWS_AS((void)compare(number, number, integers), ArgumentError);
}

TEST_CASE("eps is the step above 1") {
    CHECK(epsilon(DType::f64) == std::numeric_limits<double>::epsilon());
    CHECK(epsilon(DType::c128) == std::numeric_limits<double>::epsilon());
    CHECK(epsilon(DType::f32) == static_cast<double>(std::numeric_limits<float>::epsilon()));
    CHECK(epsilon(DType::f16) == 0.0009765625);
    CHECK(epsilon(DType::bf16) == 0.0078125);
    CHECK(epsilon(DType::f8_e4m3fn) == 0.125);
    CHECK(epsilon(DType::f8_e5m2) == 0.25);
    CHECK_THROWS_AS((void)epsilon(DType::i32), ArgumentError);
}
