#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <plumb/comm/reduce_op.h>
#include <plumb/tensor/dtype.h>

#include "tensor/formats.h"

/// Elements of every dtype from exact numbers, and what a reduction of them must give, all by the test's own
/// arithmetic.
namespace plumb::test {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, const T& value) {
    const std::size_t end = bytes.size();
    bytes.resize(end + sizeof value);
    std::memcpy(bytes.data() + end, &value, sizeof value);
}

template <class T>
T element_at(const Bytes& bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

inline const Format* narrow_format(DType dtype) {
    const auto found = std::find_if(formats().begin(), formats().end(),
                                    [dtype](const Format& format) { return format.dtype == dtype; });
    return found == formats().end() ? nullptr : &*found;
}

/// A real number in `dtype`, floats rounded to nearest; integers modulo 2^bits; bool as it is.
inline void append_real(Bytes& bytes, DType dtype, double value) {
    if (const Format* format = narrow_format(dtype)) {
        const std::uint32_t code = format->nearest(value);
        size_of(dtype) == 1 ? append(bytes, static_cast<std::uint8_t>(code))
                            : append(bytes, static_cast<std::uint16_t>(code));
        return;
    }
    const auto whole = [value] { return static_cast<std::int64_t>(value); };
    switch (dtype) {
        case DType::boolean:
        case DType::u8:
            return append(bytes, static_cast<std::uint8_t>(whole()));
        case DType::i8:
            return append(bytes, static_cast<std::int8_t>(whole()));
        case DType::i16:
            return append(bytes, static_cast<std::int16_t>(whole()));
        case DType::i32:
            return append(bytes, static_cast<std::int32_t>(whole()));
        case DType::i64:
            return append(bytes, whole());
        case DType::f32:
            return append(bytes, static_cast<float>(value));
        case DType::f64:
            return append(bytes, value);
        default:
            throw std::logic_error("no real dtype");
    }
}

inline DType component_of(DType dtype) {
    if (dtype == DType::c64) return DType::f32;
    return dtype == DType::c128 ? DType::f64 : dtype;
}

/// The reals that make one element: a complex one has two.
inline std::size_t parts_of(DType dtype) {
    return is_complex(dtype) ? 2 : 1;
}

/// What rank `rank` has at `index` (counted in reals): a small whole number, exact in every dtype, of both
/// signs where there are any.
inline double small_value(DType dtype, int rank, std::size_t index) {
    const std::size_t mixed = index * 7 + index / 9 + static_cast<std::size_t>(rank) * 5;
    if (dtype == DType::boolean) return mixed % 3 == 0 ? 1 : 0;
    return static_cast<double>(mixed % 9) - (dtype == DType::u8 ? 0 : 4);
}

inline Bytes small_values(DType dtype, int rank, std::int64_t count) {
    Bytes bytes;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count) * parts_of(dtype); ++i)
        append_real(bytes, component_of(dtype), small_value(dtype, rank, i));
    return bytes;
}

/// One step on small whole numbers, exact in double.
inline double combine_small(ReduceOp op, double a, double b) {
    const auto bits = [](double value) { return static_cast<std::int64_t>(value); };
    switch (op) {
        case ReduceOp::sum:
        case ReduceOp::avg:
            return a + b;
        case ReduceOp::product:
            return a * b;
        case ReduceOp::min:
            return std::min(a, b);
        case ReduceOp::max:
            return std::max(a, b);
        case ReduceOp::band:
            return static_cast<double>(bits(a) & bits(b));
        case ReduceOp::bor:
            return static_cast<double>(bits(a) | bits(b));
        case ReduceOp::bxor:
            return static_cast<double>(bits(a) ^ bits(b));
    }
    throw std::logic_error("no operator");
}

/// Elements first … first+count-1 of what `ranks` ranks' small_values reduce to.
inline Bytes reduced_small_values(DType dtype, ReduceOp op, int ranks, std::int64_t first,
                                  std::int64_t count) {
    Bytes bytes;
    const std::size_t parts = parts_of(dtype);
    const auto begin = static_cast<std::size_t>(first) * parts;
    for (std::size_t i = begin; i < begin + static_cast<std::size_t>(count) * parts; ++i) {
        double result = small_value(dtype, 0, i);
        for (int r = 1; r < ranks; ++r)
            result = combine_small(op, result, small_value(dtype, r, i));
        if (op == ReduceOp::avg) {  // one division in the accumulator: f64 for f64, else f32
            result /= ranks;
            if (component_of(dtype) != DType::f64) result = static_cast<float>(result);
        }
        append_real(bytes, component_of(dtype), result);
    }
    return bytes;
}

/// The operators of each dtype, by hand.
inline std::vector<ReduceOp> operators_of(DType dtype) {
    using enum ReduceOp;
    switch (dtype) {
        case DType::boolean:
            return {band, bor, bxor};
        case DType::u8:
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64:
            return {sum, product, min, max, band, bor, bxor};
        case DType::f16:
        case DType::bf16:
        case DType::f32:
        case DType::f64:
        case DType::f8_e4m3fn:
        case DType::f8_e5m2:
            return {sum, product, min, max, avg};
        case DType::c64:
        case DType::c128:
            return {sum, avg};
    }
    return {};
}

inline bool has_operator(DType dtype, ReduceOp op) {
    const auto operators = operators_of(dtype);
    return std::find(operators.begin(), operators.end(), op) != operators.end();
}

}  // namespace plumb::test
