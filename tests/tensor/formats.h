#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <plumb/tensor/dtype.h>

/// The narrow float formats from their definitions: sign, exponent, mantissa, in double arithmetic.
struct Format {
    plumb::DType dtype;
    int exponent_bits;
    int mantissa_bits;
    int bias;
    bool has_infinity;  ///< else the highest exponent holds finite values, but for all ones: NaN

    [[nodiscard]] std::uint32_t codes() const { return 1U << (1 + exponent_bits + mantissa_bits); }
    [[nodiscard]] std::uint32_t sign_bit() const { return codes() / 2; }

    [[nodiscard]] double decode(std::uint32_t code) const {
        const double sign = code >= sign_bit() ? -1.0 : 1.0;
        const int exponent = static_cast<int>(code % sign_bit() >> mantissa_bits);
        const int mantissa = static_cast<int>(code % (1U << mantissa_bits));
        const int highest = (1 << exponent_bits) - 1;
        const int ones = (1 << mantissa_bits) - 1;
        if (exponent == highest && has_infinity)
            return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
        if (exponent == highest && mantissa == ones) return std::nan("");
        if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
        return sign * std::ldexp(mantissa + ones + 1, exponent - bias - mantissa_bits);
    }

    [[nodiscard]] std::uint32_t largest_code() const {
        const std::uint32_t top = sign_bit() - 1;  // all ones: NaN
        return has_infinity ? top - (1U << mantissa_bits) : top - 1;
    }

    /// Half a step beyond the largest finite value: what lies above does not round to it.
    [[nodiscard]] double limit() const {
        const double largest = decode(largest_code());
        return largest + (largest - decode(largest_code() - 1)) / 2;
    }

    /// The code nearest to `value`, ties to the even code, found by bisection of all values. NaN is any code
    /// `is_nan` accepts, returned as all ones.
    [[nodiscard]] std::uint32_t nearest(double value) const {
        const std::uint32_t sign = std::signbit(value) ? sign_bit() : 0;
        const double magnitude = std::fabs(value);
        const std::uint32_t largest = largest_code();
        if (std::isnan(value)) return sign_bit() - 1;
        if (magnitude > limit() || (magnitude == limit() && largest % 2 == 1))
            return has_infinity ? sign + largest + 1 : sign_bit() - 1;
        std::uint32_t low = 0;
        std::uint32_t high = largest;
        while (high - low > 1) {
            const std::uint32_t middle = (low + high) / 2;
            (decode(middle) <= magnitude ? low : high) = middle;
        }
        const double below = magnitude - decode(low);
        const double above = decode(high) - magnitude;
        if (below == above) return sign + (low % 2 == 0 ? low : high);
        return sign + (below < above ? low : high);
    }

    [[nodiscard]] std::uint32_t read(const std::byte* element) const {
        if (plumb::size_of(dtype) == 1) return std::to_integer<std::uint32_t>(*element);
        std::uint16_t code = 0;
        std::memcpy(&code, element, 2);
        return code;
    }

    void write(std::byte* element, std::uint32_t code) const {
        const auto narrow = static_cast<std::uint16_t>(code);
        if (plumb::size_of(dtype) == 1)
            *element = static_cast<std::byte>(code);
        else
            std::memcpy(element, &narrow, 2);
    }

    /// Whether `code` is what a result that should be `wanted` may be: any NaN for a NaN.
    [[nodiscard]] bool same(std::uint32_t code, std::uint32_t wanted) const {
        return std::isnan(decode(wanted)) ? std::isnan(decode(code)) : code == wanted;
    }
};

inline const std::vector<Format>& formats() {
    static const std::vector<Format> all = {{plumb::DType::f16, 5, 10, 15, true},
                                            {plumb::DType::bf16, 8, 7, 127, true},
                                            {plumb::DType::f8_e4m3fn, 4, 3, 7, false},
                                            {plumb::DType::f8_e5m2, 5, 2, 15, true}};
    return all;
}

/// A fixed sequence of 64-bit numbers.
class Sequence {
  public:
    std::uint64_t next() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return state_ >> 16 ^ state_ << 31;
    }
    /// 0 … bound-1
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>((next() >> 8) % static_cast<std::uint64_t>(bound));
    }

  private:
    std::uint64_t state_ = 20240611;
};
