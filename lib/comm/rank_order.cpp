#include "comm/rank_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include <plumb/core/error.h>

#include "tensor/visit.h"

namespace plumb::comm {

namespace {

using detail::Bfloat16;
using detail::Float8E4m3fn;
using detail::Float8E5m2;
using detail::Half;
using detail::is_narrow_float;

using Inputs = std::span<const std::byte* const>;

/// Elements are reduced in tiles whose accumulators fit the nearest cache, with room for the inputs.
constexpr std::size_t kTileBytes = 16384;

/// A Rule reads an element as a Value, combines two Values, and makes an Element of the last one.
template <class Rule>
void reduce_tiles(std::byte* out, Inputs inputs, std::int64_t count, const Rule& rule) {
    using Element = typename Rule::Element;
    using Value = typename Rule::Value;
    constexpr auto size = static_cast<std::int64_t>(sizeof(Element));
    constexpr std::size_t tile = kTileBytes / sizeof(Value);
    std::array<Value, tile> values;
    for (std::int64_t first = 0; first < count; first += static_cast<std::int64_t>(tile)) {
        const std::size_t length = std::min(tile, static_cast<std::size_t>(count - first));
        const std::byte* input = inputs[0] + first * size;
        for (std::size_t i = 0; i < length; ++i)
            values[i] = rule.read(input + i * sizeof(Element));
        for (const std::byte* other : inputs.subspan(1)) {
            input = other + first * size;
            for (std::size_t i = 0; i < length; ++i)
                values[i] = rule.combine(values[i], rule.read(input + i * sizeof(Element)));
        }
        std::byte* result = out + first * size;
        for (std::size_t i = 0; i < length; ++i)
            detail::store(result + i * sizeof(Element), rule.finish(values[i]));
    }
}

// --- floating point: sums, products, averages ---

template <class T>
T with_canonical_nan(T code) {
    if constexpr (std::is_same_v<T, Float8E4m3fn>) {  // has no infinity: overflow is a NaN with a sign
        if ((code.bits & detail::kFloat8Nan) == detail::kFloat8Nan) code.bits = detail::kFloat8Nan;
    }
    return code;
}

template <class T>
struct Floating {
    using Element = T;
    using Value = std::conditional_t<is_narrow_float<T>, float, T>;

    static Value read(const std::byte* element) { return static_cast<Value>(detail::load<T>(element)); }
    static T finish(Value value) {
        const Value result = std::isnan(value) ? std::numeric_limits<Value>::quiet_NaN() : value;
        return with_canonical_nan(static_cast<T>(result));
    }
};

template <class T>
struct FloatingSum : Floating<T> {
    using Value = typename Floating<T>::Value;
    static Value combine(Value a, Value b) { return a + b; }
};

template <class T>
struct FloatingProduct : Floating<T> {
    using Value = typename Floating<T>::Value;
    static Value combine(Value a, Value b) { return a * b; }
};

template <class T>
struct Average : FloatingSum<T> {
    using Value = typename Floating<T>::Value;
    explicit Average(std::size_t ranks) : ranks_(static_cast<Value>(ranks)) {}
    [[nodiscard]] T finish(Value sum) const { return Floating<T>::finish(sum / ranks_); }

  private:
    Value ranks_;
};

// --- floating point: least and greatest ---

/// The bits of each format: its greatest magnitude that is no NaN, and the canonical NaN.
template <class T>
struct Encoding;
template <>
struct Encoding<Half> {
    using Bits = std::int16_t;
    static constexpr Bits greatest = 0x7C00, nan = 0x7E00;
};
template <>
struct Encoding<Bfloat16> {
    using Bits = std::int16_t;
    static constexpr Bits greatest = 0x7F80, nan = 0x7FC0;
};
template <>
struct Encoding<Float8E4m3fn> {
    using Bits = std::int8_t;
    static constexpr Bits greatest = 0x7E, nan = 0x7F;
};
template <>
struct Encoding<Float8E5m2> {
    using Bits = std::int8_t;
    static constexpr Bits greatest = 0x7C, nan = 0x7F;
};
template <>
struct Encoding<float> {
    using Bits = std::int32_t;
    static constexpr Bits greatest = 0x7F800000, nan = 0x7FC00000;
};
template <>
struct Encoding<double> {
    using Bits = std::int64_t;
    static constexpr Bits greatest = 0x7FF0000000000000, nan = 0x7FF8000000000000;
};

/// Sign and magnitude to two's complement and back: -0 becomes -1, so that integers order as the numbers do.
template <class Bits>
Bits flip_negative(Bits bits) {
    constexpr Bits all_but_sign = std::numeric_limits<Bits>::max();
    return static_cast<Bits>(bits < 0 ? bits ^ all_but_sign : bits);
}

/// Compares the encodings as integers. NaNs become the one integer that wins every comparison, which no
/// number has: the encodings with all ones are NaNs in every format.
template <class T, class Choose>
struct Extreme {
    using Element = typename Encoding<T>::Bits;
    using Value = Element;
    static constexpr Value kNan =
        Choose::choose(std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max());

    static Value read(const std::byte* element) {
        const auto bits = detail::load<Element>(element);
        const auto magnitude = static_cast<Value>(bits & std::numeric_limits<Value>::max());
        return magnitude > Encoding<T>::greatest ? kNan : flip_negative(bits);
    }
    static Value combine(Value a, Value b) { return Choose::choose(a, b); }
    static Element finish(Value value) { return value == kNan ? Encoding<T>::nan : flip_negative(value); }
};

struct Least {
    template <class T>
    static constexpr T choose(T a, T b) {
        return b < a ? b : a;
    }
};

struct Greatest {
    template <class T>
    static constexpr T choose(T a, T b) {
        return a < b ? b : a;
    }
};

// --- integers and bool ---

template <class T, class Combine>
struct Integral {
    using Element = T;
    using Value = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

    static Value read(const std::byte* element) { return static_cast<Value>(detail::load<T>(element)); }
    static Value combine(Value a, Value b) { return Combine::template of<Value>(a, b); }
    static T finish(Value value) { return static_cast<T>(value); }
};

struct Add {
    template <class T>
    static T of(T a, T b) {
        return detail::wrapping_add(a, b);
    }
};

struct Multiply {
    template <class T>
    static T of(T a, T b) {
        return detail::wrapping_multiply(a, b);
    }
};

template <class Choose>
struct Chosen {
    template <class T>
    static T of(T a, T b) {
        return Choose::choose(a, b);
    }
};

struct And {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a & b);
    }
};

struct Or {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a | b);
    }
};

struct Xor {
    template <class T>
    static T of(T a, T b) {
        return static_cast<T>(a ^ b);
    }
};

// --- which rule ---

[[noreturn]] void throw_undefined() {
    throw Error("a reduction was started with an operator that is not defined for its dtype");
}

template <class T>
void reduce_floating(std::byte* out, Inputs inputs, std::int64_t count, ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return reduce_tiles(out, inputs, count, FloatingSum<T>{});
        case ReduceOp::product:
            return reduce_tiles(out, inputs, count, FloatingProduct<T>{});
        case ReduceOp::min:
            return reduce_tiles(out, inputs, count, Extreme<T, Least>{});
        case ReduceOp::max:
            return reduce_tiles(out, inputs, count, Extreme<T, Greatest>{});
        case ReduceOp::avg:
            return reduce_tiles(out, inputs, count, Average<T>{inputs.size()});
        default:
            throw_undefined();
    }
}

template <class T>
void reduce_bits(std::byte* out, Inputs inputs, std::int64_t count, ReduceOp op) {
    switch (op) {
        case ReduceOp::band:
            return reduce_tiles(out, inputs, count, Integral<T, And>{});
        case ReduceOp::bor:
            return reduce_tiles(out, inputs, count, Integral<T, Or>{});
        case ReduceOp::bxor:
            return reduce_tiles(out, inputs, count, Integral<T, Xor>{});
        default:
            throw_undefined();
    }
}

template <class T>
void reduce_integers(std::byte* out, Inputs inputs, std::int64_t count, ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return reduce_tiles(out, inputs, count, Integral<T, Add>{});
        case ReduceOp::product:
            return reduce_tiles(out, inputs, count, Integral<T, Multiply>{});
        case ReduceOp::min:
            return reduce_tiles(out, inputs, count, Integral<T, Chosen<Least>>{});
        case ReduceOp::max:
            return reduce_tiles(out, inputs, count, Integral<T, Chosen<Greatest>>{});
        default:
            return reduce_bits<T>(out, inputs, count, op);
    }
}

}  // namespace

void reduce_in_rank_order(std::byte* out, std::span<const std::byte* const> inputs, std::int64_t count,
                          DType dtype, ReduceOp op) {
    if (!is_defined_for(op, dtype)) {
        throw_undefined();
    }
    detail::visit(dtype, [&]<class T>(detail::Tag<T>) {
        if constexpr (std::is_same_v<T, bool>) {
            reduce_bits<T>(out, inputs, count, op);
        } else if constexpr (std::is_integral_v<T>) {
            reduce_integers<T>(out, inputs, count, op);
        } else if constexpr (detail::is_complex_type<T>) {  // sum and average work per component
            reduce_floating<typename T::value_type>(out, inputs, 2 * count, op);
        } else {
            reduce_floating<T>(out, inputs, count, op);
        }
    });
}

}  // namespace plumb::comm
