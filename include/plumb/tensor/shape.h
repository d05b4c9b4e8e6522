#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace plumb {

/// Most dimensions a tensor may have.
inline constexpr int kMaxDims = 8;

/// A short list of 64-bit numbers, one per dimension, without heap memory: the type of shapes and strides.
class Extents {
  public:
    constexpr Extents() = default;
    /// Throws ArgumentError for more than kMaxDims entries.
    Extents(std::initializer_list<std::int64_t> values);
    explicit Extents(std::span<const std::int64_t> values);

    /// `ndim` entries, all `value`.
    static Extents filled(int ndim, std::int64_t value);

    [[nodiscard]] constexpr int ndim() const noexcept { return ndim_; }
    /// `dim` in 0 … ndim-1, unchecked.
    [[nodiscard]] constexpr std::int64_t operator[](int dim) const {
        return values_[static_cast<std::size_t>(dim)];
    }
    [[nodiscard]] constexpr std::int64_t& operator[](int dim) {
        return values_[static_cast<std::size_t>(dim)];
    }

    [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
    [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + ndim_; }

    void push_back(std::int64_t value);
    /// A copy with entry `dim` replaced.
    [[nodiscard]] Extents with(int dim, std::int64_t value) const;

    friend bool operator==(const Extents& a, const Extents& b) noexcept;

  private:
    std::array<std::int64_t, kMaxDims> values_{};
    int ndim_ = 0;
};

using Shape = Extents;    ///< extents, each >= 0
using Strides = Extents;  ///< in elements, may be 0 or negative

/// Product of the extents (1 for a scalar). Throws ArgumentError for a negative extent or a product beyond
/// 2^63-1.
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// A copy of `shape` with extent `dim` (0 … ndim-1) multiplied by `factor`. Throws ArgumentError where that
/// is beyond 2^63-1, which a shape without elements can reach.
[[nodiscard]] Shape multiplied(const Shape& shape, int dim, std::int64_t factor);
/// Row-major strides.
[[nodiscard]] Strides contiguous_strides(const Shape& shape);
/// `dim` in -ndim … ndim-1 → 0 … ndim-1. Throws ArgumentError naming `what` ("dim"), the value and the range.
[[nodiscard]] int normalise_dim(int dim, int ndim, const char* what = "dim");
/// "[2, 3]"; "[]" for a scalar.
[[nodiscard]] std::string to_string(const Extents& extents);

}  // namespace plumb
