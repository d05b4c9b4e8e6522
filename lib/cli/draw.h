#pragma once

#include <cstdint>
#include <string_view>

#include <plumb/tensor/tensor.h>

namespace plumb::cli {

/// What elements are drawn.
enum class Data : std::uint8_t {
    bits,   ///< any bit pattern: NaN, infinities, subnormal numbers, integers that wrap (bool: 0 and 1)
    real,   ///< floats in [-2, 2) with as many digits as they hold, integers in -100 … 100
    whole,  ///< whole numbers in -4 … 4
};
[[nodiscard]] std::string_view name(Data data);

/// A counter-based generator: element i of stream `key` is a function of the two, the same on every machine.
/// So every rank can draw every rank's input.
[[nodiscard]] std::uint64_t draw(std::uint64_t key, std::uint64_t index);
/// The key of a stream that is part of another.
[[nodiscard]] std::uint64_t sub_key(std::uint64_t key, std::uint64_t part);

/// Fresh and contiguous.
[[nodiscard]] Tensor draw_tensor(std::uint64_t key, const Shape& shape, DType dtype, Data data);

}  // namespace plumb::cli
