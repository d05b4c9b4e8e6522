#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "tensor/expect_error.h"
#include "tensor/formats.h"

using plumb::ArgumentError;
using plumb::DType;

namespace {

template <class T>
plumb::View view_of_all(std::vector<T>& values) {
    return plumb::contiguous_view(reinterpret_cast<std::byte*>(values.data()), plumb::dtype_of<T>(),
                                  {static_cast<std::int64_t>(values.size())});
}

template <class T>
std::vector<T> multiplied(std::vector<T> values, double factor) {
    plumb::multiply(view_of_all(values), factor);
    return values;
}

template <class T>
std::vector<T> divided(std::vector<T> values, double divisor) {
    plumb::divide(view_of_all(values), divisor);
    return values;
}

}  // namespace

TEST_CASE("multiply and divide: f32, f64, complex") {
    CHECK(multiplied<float>({1.0F, -2.5F, 0.0F}, 3) == std::vector<float>{3.0F, -7.5F, 0.0F});
    CHECK(divided<float>({1.0F, -3.0F, 10.0F}, 4) == std::vector<float>{0.25F, -0.75F, 2.5F});
    CHECK(multiplied<double>({1.5, -2.0}, -2) == std::vector<double>{-3.0, 4.0});
    CHECK(divided<double>({1.0, 2.0}, 3) == std::vector<double>{1.0 / 3.0, 2.0 / 3.0});
    using Complex = std::complex<float>;
    CHECK(multiplied<Complex>({{1.0F, -2.0F}}, 3) == std::vector<Complex>{{3.0F, -6.0F}});
    CHECK(divided<Complex>({{1.0F, -6.0F}}, 4) == std::vector<Complex>{{0.25F, -1.5F}});
    using Complex2 = std::complex<double>;
    CHECK(multiplied<Complex2>({{1.0, -2.0}}, 0.5) == std::vector<Complex2>{{0.5, -1.0}});
    CHECK(divided<Complex2>({{1.0, 2.0}}, 3) == std::vector<Complex2>{{1.0 / 3.0, 2.0 / 3.0}});
    CHECK(std::signbit(multiplied<float>({-0.0F}, 2)[0]));
    CHECK(std::isnan(divided<float>({std::nanf("")}, 2)[0]));
    // A component that is not finite leaves the other alone.
    const Complex infinite = divided<Complex>({{std::numeric_limits<float>::infinity(), 3.0F}}, 2)[0];
    CHECK(std::isinf(infinite.real()));
    CHECK(infinite.imag() == 1.5F);
}

TEST_CASE("divide is a true division") {
    // The machine's own f32 division is correctly rounded; multiplying by a rounded reciprocal is not.
    Sequence sequence;
    int differ = 0;
    for (const int divisor : {3, 5, 7, 10, 49, 1000, 16777215}) {
        std::vector<float> values;
        for (int i = 0; i < 3000; ++i)
            values.push_back(std::ldexp(static_cast<float>(sequence.below(1 << 24)),
                                        static_cast<int>(sequence.below(200)) - 150));
        const std::vector<float> quotients = divided(values, divisor);
        const std::vector<float> products = multiplied(values, divisor);
        const float f = static_cast<float>(divisor);
        for (std::size_t i = 0; i < values.size(); ++i) {
            REQUIRE(quotients[i] == values[i] / f);
            REQUIRE(products[i] == values[i] * f);
            differ += quotients[i] == values[i] * (1.0F / f) ? 0 : 1;
        }
    }
    CHECK(differ > 1000);
}

TEST_CASE("multiply and divide: all codes of the narrow floats, rounded once") {
    for (const Format& format : formats()) {
        const auto size = static_cast<std::int64_t>(plumb::size_of(format.dtype));
        const std::int64_t count = format.codes();
        std::vector<std::byte> codes(static_cast<std::size_t>(count * size));
        for (std::uint32_t code = 0; code < format.codes(); ++code)
            format.write(codes.data() + code * size, code);
        for (const int factor : {1, 2, 3, 7, 96, 4097}) {
            std::vector<std::byte> products = codes;
            std::vector<std::byte> quotients = codes;
            plumb::multiply(plumb::contiguous_view(products.data(), format.dtype, {count}), factor);
            plumb::divide(plumb::contiguous_view(quotients.data(), format.dtype, {count}), factor);
            for (std::uint32_t code = 0; code < format.codes(); ++code) {
                INFO(plumb::name(format.dtype), " ", format.decode(code), " and ", factor);
                const double value = format.decode(code);
                REQUIRE(
                    format.same(format.read(products.data() + code * size), format.nearest(value * factor)));
                REQUIRE(
                    format.same(format.read(quotients.data() + code * size), format.nearest(value / factor)));
            }
        }
    }
}

TEST_CASE("multiply: a product that two roundings would get wrong") {
    // 1 + 2^-8 lies between two bf16; a little more, too little for f32, must go up, a little less down.
    std::vector<std::byte> one(2);
    const Format& bf16 = formats()[1];
    for (const int sign : {1, -1}) {
        bf16.write(one.data(), bf16.nearest(1.0));
        plumb::multiply(plumb::contiguous_view(one.data(), DType::bf16, {}),
                        sign * (1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)));
        CHECK(bf16.decode(bf16.read(one.data())) == sign * (1.0 + std::ldexp(1.0, -7)));
        bf16.write(one.data(), bf16.nearest(1.0));
        plumb::multiply(plumb::contiguous_view(one.data(), DType::bf16, {}),
                        sign * (1.0 + 3 * std::ldexp(1.0, -8) - std::ldexp(1.0, -40)));
        CHECK(bf16.decode(bf16.read(one.data())) == sign * (1.0 + std::ldexp(1.0, -7)));
    }
}

TEST_CASE("multiply and divide write through strides and nowhere else") {
    std::vector<float> values;
    for (int i = 0; i < 24; ++i)
        values.push_back(static_cast<float>(i));
    const plumb::View all =
        plumb::contiguous_view(reinterpret_cast<std::byte*>(values.data()), DType::f32, {4, 6});
    plumb::multiply(plumb::transpose(plumb::narrow(all, 1, 2, 3), 0, 1), 2);
    plumb::divide(plumb::select(all, 1, 5), 4);
    for (int i = 0; i < 24; ++i) {
        const int column = i % 6;
        const float value = static_cast<float>(i);
        const float wanted = column >= 2 && column < 5 ? value * 2 : (column == 5 ? value * 0.25F : value);
        CHECK(values[static_cast<std::size_t>(i)] == wanted);
    }
}

TEST_CASE("multiply and divide: integers and bool are refused") {
    std::vector<std::int64_t> values{7};
    for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
        const auto view = plumb::contiguous_view(reinterpret_cast<std::byte*>(values.data()), dtype, {1});
        const std::string given = "dtype " + std::string(plumb::name(dtype)) + " given";
        expect_error<ArgumentError>([&] { plumb::multiply(view, 2); }, {"multiply", given, "floating point"});
        expect_error<ArgumentError>([&] { plumb::divide(view, 2); }, {"divide", given, "floating point"});
    }
    CHECK(values[0] == 7);
}
