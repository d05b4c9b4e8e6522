#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <plumb/tensor/tensor.h>

#include "support/job.h"
#include "tensor/layouts.h"

/// Tensors whose content every rank can name without asking: what stands in rank r's memory at a place is a
/// function of r and the place.
namespace plumb::test {

using Index = std::vector<std::int64_t>;
using Bytes = std::vector<std::byte>;

inline std::byte shard_byte(int rank, std::int64_t place, DType dtype) {
    const auto x = static_cast<std::uint64_t>(place + 1) * 0x9e3779b97f4a7c15U ^
                   static_cast<std::uint64_t>(rank + 1) * 0xc2b2ae3d27d4eb4fU;
    const auto byte = static_cast<std::uint8_t>((x ^ x >> 31U) * 0x94d049bb133111ebU >> 56U);
    return static_cast<std::byte>(dtype == DType::boolean ? byte % 2 : byte);
}

/// Rank `rank`'s tensor, laid out so.
inline Tensor shard(const Layout& layout, DType dtype, int rank) {
    const auto bytes = static_cast<std::size_t>(layout.elements) * size_of(dtype);
    auto buffer = std::make_shared<Bytes>(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        (*buffer)[i] = shard_byte(rank, static_cast<std::int64_t>(i), dtype);
    }
    const View view = view_of(layout, dtype, buffer->data());
    return Tensor::from_foreign(view.data, dtype, layout.shape, layout.strides, [buffer] {});
}

/// Its element at `index`.
inline Bytes shard_element(const Layout& layout, DType dtype, int rank, const Index& index) {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    std::int64_t place = layout.offset;
    for (std::size_t d = 0; d < index.size(); ++d) {
        place += index[d] * layout.strides[static_cast<int>(d)];
    }
    Bytes element;
    for (std::int64_t b = 0; b < size; ++b) {
        element.push_back(shard_byte(rank, place * size + b, dtype));
    }
    return element;
}

/// All indices of `shape`, row-major.
inline std::vector<Index> all_indices(const Shape& shape) {
    std::vector<Index> indices{{}};
    for (const std::int64_t extent : shape) {
        std::vector<Index> longer;
        for (const Index& index : indices) {
            for (std::int64_t i = 0; i < extent; ++i) {
                longer.push_back(index);
                longer.back().push_back(i);
            }
        }
        indices = std::move(longer);
    }
    return indices;
}

/// Fails unless this rank's tensor is as `shard` made it, between its elements too.
inline void check_untouched(const Tensor& tensor, const Layout& layout, DType dtype) {
    const std::int64_t bytes = layout.elements * static_cast<std::int64_t>(size_of(dtype));
    const std::byte* base = tensor.bytes() - layout.offset * static_cast<std::int64_t>(size_of(dtype));
    std::int64_t changed = 0;
    for (std::int64_t i = 0; i < bytes; ++i) {
        changed += base[i] != shard_byte(rank(), i, dtype) ? 1 : 0;
    }
    CHECK(changed == 0);
}

/// Fails unless `tensor` has this shape and dtype, and at every index the bytes that `expected` names.
inline void check_elements(const Tensor& tensor, const Shape& shape, DType dtype,
                           const std::function<Bytes(const Index&)>& expected) {
    REQUIRE(tensor.defined());
    REQUIRE(tensor.shape() == shape);
    REQUIRE(tensor.dtype() == dtype);
    Bytes bytes(tensor.view().bytes());
    copy_out(tensor, bytes);
    auto element = bytes.cbegin();
    const auto size = static_cast<std::ptrdiff_t>(size_of(dtype));
    std::int64_t wrong = 0;
    for (const auto& index : all_indices(shape)) {
        wrong += Bytes(element, element + size) != expected(index) ? 1 : 0;
        element += size;
    }
    CHECK_MESSAGE(wrong == 0, wrong << " wrong elements, shape " << to_string(shape));
}

inline Layout row_major(const Shape& shape) {
    return distinct_layouts(shape).front();
}

/// An array of floats that no two ranks share, of many magnitudes, both signs, in which sums and products are
/// rounded.
inline float real_value(int rank, std::int64_t place) {
    const auto x = static_cast<std::uint32_t>(place * 131 + rank * 7919 + 17) * 2654435761U ^ 0x5bd1e995U;
    const float mantissa = 1.0F + static_cast<float>(x >> 9U) / 8388608.0F;
    const float magnitude = static_cast<float>(1U << (x % 7U)) / 8.0F;
    return (x >> 8U & 1U) != 0 ? -mantissa * magnitude : mantissa * magnitude;
}

}  // namespace plumb::test
