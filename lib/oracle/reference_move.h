#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include <plumb/oracle/reference.h>

#include "oracle/elements.h"

/// Building blocks of the serial reference.
namespace plumb::oracle::reference {

/// A fresh tensor in which each element is copied from where `source(index)` points; null: all bytes zero.
template <class Source>
[[nodiscard]] Tensor build(const Shape& shape, DType dtype, Source source) {
    Tensor out = Tensor::empty(shape, dtype);
    std::byte* element = out.bytes();
    for_each_index(shape, [&](const Index& index) {
        const std::byte* from = source(index);
        if (from != nullptr)
            std::memcpy(element, from, size_of(dtype));
        else
            std::memset(element, 0, size_of(dtype));
        element += size_of(dtype);
    });
    return out;
}

/// The same index with coordinate `dim` replaced.
[[nodiscard]] inline Index moved(Index index, int dim, std::int64_t to) {
    index[static_cast<std::size_t>(dim)] = to;
    return index;
}
[[nodiscard]] inline std::int64_t at(const Index& index, int dim) {
    return index[static_cast<std::size_t>(dim)];
}

/// Throw ArgumentError for no ranks, an undefined tensor, or differing dtypes or shapes (but for `free_dim`).
void require_equal_shapes(const PerRank& in);
void require_equal_shapes_but(const PerRank& in, int free_dim);
/// -ndim … ndim-1 → 0 … ndim-1; throws ArgumentError.
[[nodiscard]] int resolve_dim(std::int64_t dim, const Tensor& tensor);

/// Sum and product of extents; throw ArgumentError beyond 2^63-1.
[[nodiscard]] std::int64_t added(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t multiplied(std::int64_t a, std::int64_t b);

[[nodiscard]] Tensor copy_of(const Tensor& tensor);
/// All tensors after one another along `dim`.
[[nodiscard]] Tensor joined(const PerRank& in, int dim);
/// One after the other along `dim`, `sizes[i]` slices each; throws ArgumentError unless they make up the
/// extent.
[[nodiscard]] PerRank pieces(const Tensor& tensor, int dim, const std::vector<std::int64_t>& sizes);
/// n equal pieces; throws ArgumentError unless n divides the extent.
[[nodiscard]] PerRank chunks(const Tensor& tensor, int dim, std::size_t n);

}  // namespace plumb::oracle::reference
