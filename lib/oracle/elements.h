#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <plumb/tensor/tensor.h>

/// Reading and writing tensors one element at a time, by index arithmetic and nothing else: what the serial
/// reference and the judge stand on. Deliberately apart from the library's block moves and conversions.
namespace plumb::oracle {

using Index = std::array<std::int64_t, kMaxDims>;

/// Calls `visit(index)` for every index of `shape`, row-major.
template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
    for (const std::int64_t extent : shape)
        if (extent == 0) return;
    Index index{};
    while (true) {
        visit(std::as_const(index));
        int dim = shape.ndim() - 1;
        for (; dim >= 0; --dim) {
            auto& i = index[static_cast<std::size_t>(dim)];
            if (++i < shape[dim]) break;
            i = 0;
        }
        if (dim < 0) return;
    }
}

/// Address of the element at `index`.
[[nodiscard]] inline const std::byte* element_at(const Tensor& tensor, const Index& index) {
    std::int64_t offset = 0;
    for (int dim = 0; dim < tensor.ndim(); ++dim)
        offset += index[static_cast<std::size_t>(dim)] * tensor.strides()[dim];
    return tensor.bytes() + offset * static_cast<std::int64_t>(size_of(tensor.dtype()));
}

/// Real numbers in one element: 2 for complex.
[[nodiscard]] constexpr std::size_t components(DType dtype) {
    return is_complex(dtype) ? 2 : 1;
}
/// Element type of one component.
[[nodiscard]] constexpr DType component_type(DType dtype) {
    return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}

/// A real floating-point element as a double (exact), and a number of the accumulator type rounded to nearest
/// even and stored; NaN is stored as the canonical quiet NaN. `dtype` is a real float; f64 is stored from
/// double only.
[[nodiscard]] double load_real(DType dtype, const std::byte* element);
void store_real(DType dtype, std::byte* element, double value);
void store_real(DType dtype, std::byte* element, float value);

/// An integer or bool element, sign-extended; and the low bits of a number stored.
[[nodiscard]] std::int64_t load_integer(DType dtype, const std::byte* element);
void store_integer(DType dtype, std::byte* element, std::int64_t value);

}  // namespace plumb::oracle
