#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace plumb::detail {

/// The two 8-bit floats of the OCP specification, by their parameters.
struct E4m3fn {
    static constexpr int mantissa_bits = 3;
    static constexpr int bias = 7;
    static constexpr std::uint32_t largest = 0x7E;   // 448
    static constexpr std::uint32_t overflow = 0x7F;  // no infinity: NaN
    static constexpr bool is_nan(std::uint32_t magnitude) { return magnitude == 0x7F; }
    static constexpr bool is_infinite(std::uint32_t) { return false; }
};

struct E5m2 {
    static constexpr int mantissa_bits = 2;
    static constexpr int bias = 15;
    static constexpr std::uint32_t largest = 0x7B;   // 57344
    static constexpr std::uint32_t overflow = 0x7C;  // infinity
    static constexpr bool is_nan(std::uint32_t magnitude) { return magnitude > 0x7C; }
    static constexpr bool is_infinite(std::uint32_t magnitude) { return magnitude == 0x7C; }
};

inline constexpr std::uint32_t kFloat8Nan = 0x7F;

template <class Format>
constexpr float decode_float8(std::uint32_t code) {
    const std::uint32_t sign = (code & 0x80U) << 24;
    const std::uint32_t magnitude = code & 0x7FU;
    if (Format::is_nan(magnitude)) return std::bit_cast<float>(sign | 0x7FC00000U);
    if (Format::is_infinite(magnitude)) return std::bit_cast<float>(sign | 0x7F800000U);
    const std::uint32_t exponent = magnitude >> Format::mantissa_bits;
    const std::uint32_t mantissa = magnitude & ((1U << Format::mantissa_bits) - 1U);
    if (exponent == 0) {
        constexpr float unit =
            1.0F / static_cast<float>(1U << (Format::bias - 1 + Format::mantissa_bits));  // least subnormal
        const float value = static_cast<float>(mantissa) * unit;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
    }
    const std::uint32_t exponent32 = exponent + 127U - static_cast<std::uint32_t>(Format::bias);
    return std::bit_cast<float>(sign | (exponent32 << 23) | (mantissa << (23 - Format::mantissa_bits)));
}

/// `value` without its lowest `shift` bits, rounded to nearest, ties to even.
constexpr std::uint32_t shift_rounded(std::uint32_t value, int shift) {
    const std::uint32_t odd = (value >> shift) & 1U;
    return (value + (1U << (shift - 1)) - 1U + odd) >> shift;
}

template <class Format>
constexpr std::uint8_t encode_float8(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24) & 0x80U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | kFloat8Nan);
    constexpr int drop = 23 - Format::mantissa_bits;
    constexpr int least_normal = 1 - Format::bias;
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint32_t code = 0;
    if (exponent >= least_normal) {
        // Exponent and mantissa are rounded as one number: a carry out of the mantissa raises the exponent.
        code = shift_rounded(magnitude - (static_cast<std::uint32_t>(127 - Format::bias) << 23), drop);
    } else if (const int shift = drop + least_normal - exponent; shift <= 24) {
        code = shift_rounded((magnitude & 0x7FFFFFU) | 0x800000U, shift);
    }
    return static_cast<std::uint8_t>(sign | (code > Format::largest ? Format::overflow : code));
}

template <class Format>
constexpr std::array<float, 256> float8_table() {
    std::array<float, 256> table{};
    for (std::size_t code = 0; code < table.size(); ++code)
        table[code] = decode_float8<Format>(static_cast<std::uint32_t>(code));
    return table;
}

template <class Format>
inline constexpr std::array<float, 256> kFloat8Table = float8_table<Format>();

/// An 8-bit float as an element type: conversions only, arithmetic is done in f32.
template <class Format>
struct Float8 {
    std::uint8_t bits = 0;

    Float8() = default;
    explicit Float8(float value) : bits(encode_float8<Format>(value)) {}
    explicit operator float() const { return kFloat8Table<Format>[bits]; }
};

}  // namespace plumb::detail
