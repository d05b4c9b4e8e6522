#include "oracle/elements.h"

#include <cmath>
#include <limits>

#include <Eigen/Core>

#include <plumb/core/error.h>

namespace plumb::oracle {

namespace {

template <class T>
T read(const std::byte* element) {
    T value;
    std::memcpy(&value, element, sizeof value);
    return value;
}

template <class T>
void write(std::byte* element, T value) {
    std::memcpy(element, &value, sizeof value);
}

/// Layout of an 8-bit float: sign, exponent, mantissa.
struct Float8 {
    int mantissa_bits;
    int bias;
    unsigned overflow_code;  ///< first code (without sign) that is no finite number: the infinity of e5m2,
                             ///< the NaN of e4m3fn
    unsigned nan_code;
};
constexpr Float8 kE4m3fn{3, 7, 0x7f, 0x7f};
constexpr Float8 kE5m2{2, 15, 0x7c, 0x7e};

const Float8& layout(DType dtype) {
    return dtype == DType::f8_e4m3fn ? kE4m3fn : kE5m2;
}

/// The number that a code without sign would mean if no code were set apart for infinity and NaN.
double magnitude(const Float8& form, unsigned code) {
    const auto mantissa = static_cast<int>(code & ((1U << static_cast<unsigned>(form.mantissa_bits)) - 1U));
    const auto exponent = static_cast<int>(code >> static_cast<unsigned>(form.mantissa_bits));
    if (exponent == 0) return std::ldexp(mantissa, 1 - form.bias - form.mantissa_bits);
    return std::ldexp(mantissa + (1 << form.mantissa_bits), exponent - form.bias - form.mantissa_bits);
}

double decode_float8(DType dtype, std::uint8_t code) {
    const Float8& form = layout(dtype);
    const unsigned unsigned_code = code & 0x7fU;
    double value = magnitude(form, unsigned_code);
    if (unsigned_code >= form.overflow_code)
        value = dtype == DType::f8_e5m2 && unsigned_code == form.overflow_code
                    ? std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
    return (code & 0x80U) != 0 ? -value : value;
}

/// The nearest of all codes, by trying each; a tie goes to the even code.
std::uint8_t encode_float8(DType dtype, float value) {
    const Float8& form = layout(dtype);
    if (std::isnan(value)) return static_cast<std::uint8_t>(form.nan_code);
    const double size = std::fabs(static_cast<double>(value));
    unsigned best = form.overflow_code;
    if (size < magnitude(form, form.overflow_code)) {
        best = 0;
        for (unsigned code = 1; code <= form.overflow_code; ++code) {
            const double distance = std::fabs(size - magnitude(form, code));
            const double best_distance = std::fabs(size - magnitude(form, best));
            if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
        }
    }
    return static_cast<std::uint8_t>(best | (std::signbit(value) ? 0x80U : 0U));
}

}  // namespace

double load_real(DType dtype, const std::byte* element) {
    switch (dtype) {
        case DType::f16:
            return static_cast<double>(static_cast<float>(read<Eigen::half>(element)));
        case DType::bf16:
            return static_cast<double>(static_cast<float>(read<Eigen::bfloat16>(element)));
        case DType::f32:
            return static_cast<double>(read<float>(element));
        case DType::f64:
            return read<double>(element);
        case DType::f8_e4m3fn:
        case DType::f8_e5m2:
            return decode_float8(dtype, read<std::uint8_t>(element));
        default:
            throw ArgumentError("load_real: not a real floating-point type");
    }
}

void store_real(DType dtype, std::byte* element, double value) {
    if (dtype != DType::f64) throw ArgumentError("store_real: a double is stored as float64 only");
    write(element, std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

void store_real(DType dtype, std::byte* element, float value) {
    const float number = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    switch (dtype) {
        case DType::f16:
            return write(element, static_cast<Eigen::half>(number));
        case DType::bf16:
            return write(element, static_cast<Eigen::bfloat16>(number));
        case DType::f32:
            return write(element, number);
        case DType::f8_e4m3fn:
        case DType::f8_e5m2:
            return write(element, encode_float8(dtype, number));
        default:
            throw ArgumentError("store_real: a float is stored as float32 and narrower only");
    }
}

std::int64_t load_integer(DType dtype, const std::byte* element) {
    switch (dtype) {
        case DType::boolean:
        case DType::u8:
            return read<std::uint8_t>(element);
        case DType::i8:
            return read<std::int8_t>(element);
        case DType::i16:
            return read<std::int16_t>(element);
        case DType::i32:
            return read<std::int32_t>(element);
        case DType::i64:
            return read<std::int64_t>(element);
        default:
            throw ArgumentError("load_integer: not an integer type");
    }
}

void store_integer(DType dtype, std::byte* element, std::int64_t value) {
    if (dtype != DType::boolean && !is_integer(dtype))
        throw ArgumentError("store_integer: not an integer type");
    std::memcpy(element, &value, size_of(dtype));  // little endian: the low bytes come first
}

}  // namespace plumb::oracle
