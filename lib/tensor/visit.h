#pragma once

#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <plumb/core/error.h>
#include <plumb/tensor/dtype.h>
#include <tensor/float8.h>
#include <Eigen/Core>

namespace plumb::detail {

using Half = Eigen::half;
using Bfloat16 = Eigen::bfloat16;
using Float8E4m3fn = Float8<E4m3fn>;
using Float8E5m2 = Float8<E5m2>;

/// Floating types narrower than f32: stored as they are, computed in f32.
template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16> ||
                                        std::is_same_v<T, Float8E4m3fn> || std::is_same_v<T, Float8E5m2>;

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

template <class T>
struct Tag {
    using type = T;
};

/// Calls `f(Tag<T>{})` with the element type of `dtype`: bool, the fixed-width integers, Half, Bfloat16,
/// float, double, std::complex of both, and the two Float8.
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
    switch (dtype) {
        case DType::boolean:
            return f(Tag<bool>{});
        case DType::u8:
            return f(Tag<std::uint8_t>{});
        case DType::i8:
            return f(Tag<std::int8_t>{});
        case DType::i16:
            return f(Tag<std::int16_t>{});
        case DType::i32:
            return f(Tag<std::int32_t>{});
        case DType::i64:
            return f(Tag<std::int64_t>{});
        case DType::f16:
            return f(Tag<Half>{});
        case DType::bf16:
            return f(Tag<Bfloat16>{});
        case DType::f32:
            return f(Tag<float>{});
        case DType::f64:
            return f(Tag<double>{});
        case DType::c64:
            return f(Tag<std::complex<float>>{});
        case DType::c128:
            return f(Tag<std::complex<double>>{});
        case DType::f8_e4m3fn:
            return f(Tag<Float8E4m3fn>{});
        case DType::f8_e5m2:
            return f(Tag<Float8E5m2>{});
    }
    throw ArgumentError("dtype: " + std::to_string(static_cast<int>(dtype)) + " is no element type");
}

/// Elements may lie at any address and a bool byte may hold any value, so all access goes through these two.
template <class T>
[[nodiscard]] T load(const std::byte* element) {
    if constexpr (std::is_same_v<T, bool>) {
        return *element != std::byte{0};
    } else {
        T value;
        std::memcpy(static_cast<void*>(&value), element, sizeof(T));
        return value;
    }
}

template <class T>
void store(std::byte* element, const T& value) {
    std::memcpy(element, static_cast<const void*>(&value), sizeof(T));
}

/// Integer a + b and a * b modulo 2^bits, in an unsigned type wide enough not to be promoted to int.
template <class T>
[[nodiscard]] T wrapping_add(T a, T b) {
    using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
}

template <class T>
[[nodiscard]] T wrapping_multiply(T a, T b) {
    using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
}

/// `value` as f32, rounded to odd: a second rounding to a type of at most 22 bits then is as good as one
/// rounding of `value` itself.
[[nodiscard]] inline float to_float_odd(double value) {
    const float rounded = static_cast<float>(value);
    const double back = static_cast<double>(rounded);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
    if (back == value || value != value || (bits & 1U) != 0) return rounded;
    // The bits of a float count magnitudes, whatever the sign.
    const double magnitude = value < 0 ? -value : value;
    const double rounded_magnitude = back < 0 ? -back : back;
    bits = magnitude > rounded_magnitude ? bits + 1U : bits - 1U;
    return std::bit_cast<float>(bits);
}

}  // namespace plumb::detail
