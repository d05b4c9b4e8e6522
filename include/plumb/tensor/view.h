#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <plumb/memory/space.h>
#include <plumb/tensor/dtype.h>
#include <plumb/tensor/shape.h>

namespace plumb {

/// A look at memory that somebody else owns: pointer to element (0, …, 0), element type, shape, strides in
/// elements. `Byte` is `std::byte` (View) or `const std::byte` (ConstView).
template <class Byte>
struct BasicView {
    Byte* data = nullptr;
    DType dtype = DType::f32;
    Shape shape;
    Strides strides;
    MemorySpace space = MemorySpace::host;

    [[nodiscard]] int ndim() const noexcept { return shape.ndim(); }
    [[nodiscard]] std::int64_t element_count() const { return plumb::element_count(shape); }
    [[nodiscard]] std::size_t bytes() const {
        return static_cast<std::size_t>(element_count()) * size_of(dtype);
    }

    operator BasicView<const std::byte>() const  // NOLINT: a View is a ConstView
        requires(!std::is_const_v<Byte>) {
        return {data, dtype, shape, strides, space};
    }
};

using View = BasicView<std::byte>;
using ConstView = BasicView<const std::byte>;

/// Row-major over `data`.
[[nodiscard]] View contiguous_view(std::byte* data, DType dtype, const Shape& shape,
                                   MemorySpace space = MemorySpace::host);
[[nodiscard]] ConstView contiguous_view(const std::byte* data, DType dtype, const Shape& shape,
                                        MemorySpace space = MemorySpace::host);

/// Elements start … start+length-1 of `dim` (0 … ndim-1). Throws ArgumentError outside 0 <= start,
/// start+length <= extent.
[[nodiscard]] View narrow(const View& view, int dim, std::int64_t start, std::int64_t length);
[[nodiscard]] ConstView narrow(const ConstView& view, int dim, std::int64_t start, std::int64_t length);
/// Swaps two dimensions.
[[nodiscard]] View transpose(const View& view, int dim_a, int dim_b);
[[nodiscard]] ConstView transpose(const ConstView& view, int dim_a, int dim_b);
/// Drops `dim` at `index`.
[[nodiscard]] View select(const View& view, int dim, std::int64_t index);
[[nodiscard]] ConstView select(const ConstView& view, int dim, std::int64_t index);

/// Whether the elements lie one after the other in row-major order (extents of 1 and empty views do not
/// disturb).
[[nodiscard]] bool is_contiguous(const ConstView& view);

/// Whether two different indices name the same memory (a stride of 0, crossing strides). Exact for up to 2^16
/// elements, otherwise a `true` may be cautious.
[[nodiscard]] bool overlaps_itself(const ConstView& view);
/// Whether the two share a byte. Exact for up to 2^16 elements each, otherwise a `true` may be cautious
/// (interleaved views).
[[nodiscard]] bool overlap(const ConstView& a, const ConstView& b);

}  // namespace plumb
