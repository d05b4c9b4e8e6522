#pragma once

#include <cstddef>

#include <plumb/tensor/view.h>

namespace plumb {

/// N-dimensional block moves on host memory. All are local, take any strides, coalesce dimensions first and
/// move the inner contiguous run by memcpy. None allocates. Shapes and dtypes must be equal (ArgumentError
/// otherwise); source and destination must not overlap, and no destination may overlap itself. Elements need
/// not be aligned. Memory spaces other than host are an ArgumentError.

/// dst = src.
void copy(const View& dst, const ConstView& src);
/// Writes the elements of `src` row-major to `dst`, `src.bytes()` long.
void pack(std::byte* dst, const ConstView& src);
/// Reads `dst.bytes()` bytes, row-major, into `dst`.
void unpack(const View& dst, const std::byte* src);
/// dst = dst + src, each element rounded once to the dtype (f16, bf16 and 8-bit floats through f32; integers
/// wrap). Throws ArgumentError for bool.
void add(const View& dst, const ConstView& src);
/// dst = dst * factor and dst = dst / divisor (true division, no reciprocal), computed in f64 and rounded
/// once to the dtype: correctly rounded wherever the factor is itself an f32 value (every count of ranks up
/// to 2^24 is). Complex elements are scaled per component. Throw ArgumentError for integers and bool.
void multiply(const View& dst, double factor);
void divide(const View& dst, double divisor);
/// All bytes zero.
void fill_zero(const View& dst);

}  // namespace plumb
