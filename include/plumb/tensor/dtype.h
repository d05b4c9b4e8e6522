#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace plumb {

/// Element type of a tensor, known at run time.
enum class DType : std::uint8_t {
    boolean,
    u8,
    i8,
    i16,
    i32,
    i64,
    f16,
    bf16,
    f32,
    f64,
    c64,
    c128,
    f8_e4m3fn,
    f8_e5m2
};

inline constexpr DType kAllDTypes[] = {
    DType::boolean, DType::u8,  DType::i8,  DType::i16, DType::i32,  DType::i64,       DType::f16,
    DType::bf16,    DType::f32, DType::f64, DType::c64, DType::c128, DType::f8_e4m3fn, DType::f8_e5m2};

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
    switch (dtype) {
        case DType::boolean:
        case DType::u8:
        case DType::i8:
        case DType::f8_e4m3fn:
        case DType::f8_e5m2:
            return 1;
        case DType::i16:
        case DType::f16:
        case DType::bf16:
            return 2;
        case DType::i32:
        case DType::f32:
            return 4;
        case DType::i64:
        case DType::f64:
        case DType::c64:
            return 8;
        case DType::c128:
            return 16;
    }
    return 0;
}

/// torch's name: "float32", "bfloat16", "complex64", "bool", "float8_e4m3fn", …
[[nodiscard]] std::string_view name(DType dtype);
/// The short name of case ids: "f32", "bf16", "c64", "bool", "f8_e4m3fn", …
[[nodiscard]] std::string_view short_name(DType dtype);
/// Accepts both spellings. Throws ArgumentError that lists what is allowed.
[[nodiscard]] DType dtype_from_name(std::string_view text);

/// Real floating point, 8-bit forms included.
[[nodiscard]] constexpr bool is_floating(DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64 ||
           dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2;
}
[[nodiscard]] constexpr bool is_float8(DType dtype) {
    return dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2;
}
[[nodiscard]] constexpr bool is_complex(DType dtype) {
    return dtype == DType::c64 || dtype == DType::c128;
}
/// Signed and unsigned integers; not bool.
[[nodiscard]] constexpr bool is_integer(DType dtype) {
    return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 ||
           dtype == DType::i64;
}

/// The DType of a C++ element type (the half and 8-bit floats have none of their own).
template <class T>
[[nodiscard]] constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, bool>)
        return DType::boolean;
    else if constexpr (std::is_same_v<T, std::uint8_t>)
        return DType::u8;
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return DType::i8;
    else if constexpr (std::is_same_v<T, std::int16_t>)
        return DType::i16;
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return DType::i32;
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return DType::i64;
    else if constexpr (std::is_same_v<T, float>)
        return DType::f32;
    else if constexpr (std::is_same_v<T, double>)
        return DType::f64;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return DType::c64;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return DType::c128;
    else
        static_assert(sizeof(T) == 0, "no DType for this C++ type");
}

}  // namespace plumb
