#pragma once

#include <cstddef>
#include <cstdint>

#include <plumb/tensor/dtype.h>

namespace plumb {

/// One element read as f32 (f16, bf16, 8-bit floats and f32 only; exact). Throws ArgumentError for other
/// dtypes.
[[nodiscard]] float load_f32(DType dtype, const std::byte* element);
/// One f32 rounded to nearest, ties to even, and stored as `dtype` (the same set). Beyond the largest finite
/// value (as rounded: 448 … 464 is still 448 in f8_e4m3fn): infinity, and NaN for f8_e4m3fn, which has no
/// infinity.
void store_f32(DType dtype, std::byte* element, float value);

}  // namespace plumb
