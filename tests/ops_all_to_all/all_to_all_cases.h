#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/ops/all_to_all.h>

#include "support/job.h"
#include "tensor/layouts.h"

namespace plumb::test {

/// Byte `position` of rank `rank`'s buffer: different for every rank and place.
inline std::byte byte_of(int rank, std::int64_t position, DType dtype) {
    auto x = static_cast<std::uint64_t>(position) * 0x9e3779b97f4a7c15U +
             static_cast<std::uint64_t>(rank) * 0xbf58476d1ce4e5b9U;
    x ^= x >> 29U;
    x *= 0x94d049bb133111ebU;
    const auto byte = static_cast<std::uint8_t>(x >> 40U);
    return static_cast<std::byte>(dtype == DType::boolean ? byte & 1U : byte);
}

/// A tensor over foreign memory of this layout, filled with this rank's bytes.
inline Tensor filled_tensor(const Layout& layout, DType dtype, int rank) {
    auto buffer =
        std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(layout.elements) * size_of(dtype));
    for (std::size_t i = 0; i < buffer->size(); ++i) {
        (*buffer)[i] = byte_of(rank, static_cast<std::int64_t>(i), dtype);
    }
    const View view = view_of(layout, dtype, buffer->data());
    return Tensor::from_foreign(view.data, dtype, layout.shape, layout.strides, [buffer] {});
}

/// All indices of `shape`, row-major.
inline std::vector<std::vector<std::int64_t>> all_indices(const Shape& shape) {
    std::vector<std::vector<std::int64_t>> indices{{}};
    for (const std::int64_t extent : shape) {
        std::vector<std::vector<std::int64_t>> longer;
        for (const auto& index : indices) {
            for (std::int64_t i = 0; i < extent; ++i) {
                longer.push_back(index);
                longer.back().push_back(i);
            }
        }
        indices = std::move(longer);
    }
    return indices;
}

inline std::int64_t position_of(const Layout& layout, const std::vector<std::int64_t>& index) {
    std::int64_t position = layout.offset;
    for (std::size_t d = 0; d < index.size(); ++d) {
        position += index[d] * layout.strides[static_cast<int>(d)];
    }
    return position;
}

/// Judges every element of `output` on this rank by the op's formula: the element at `index` comes from the
/// rank whose chunk of the joined dim it stands in, at the place that this rank's chunk of the cut dim
/// begins.
inline void check_redistributed(const Tensor& output, const Layout& input, DType dtype, int gather_dim,
                                int scatter_dim) {
    REQUIRE(output.defined());
    Shape shape = input.shape;
    shape[scatter_dim] = shape[scatter_dim] / ranks();
    const std::int64_t cut = shape[scatter_dim];
    const std::int64_t joined = shape[gather_dim];
    shape[gather_dim] = joined * ranks();
    REQUIRE(output.shape() == shape);
    REQUIRE(output.dtype() == dtype);
    std::vector<std::byte> bytes(output.view().bytes());
    copy_out(output, bytes);
    const std::size_t size = size_of(dtype);
    std::size_t flat = 0;
    std::size_t wrong = 0;
    for (auto index : all_indices(shape)) {
        const auto g = static_cast<std::size_t>(gather_dim);
        const auto s = static_cast<std::size_t>(scatter_dim);
        const int source = static_cast<int>(index[g] / joined);
        index[g] %= joined;
        index[s] += rank() * cut;
        const std::int64_t position = position_of(input, index) * static_cast<std::int64_t>(size);
        for (std::size_t b = 0; b < size; ++b) {
            wrong += bytes[flat * size + b] != byte_of(source, position + static_cast<std::int64_t>(b), dtype)
                         ? 1U
                         : 0U;
        }
        ++flat;
    }
    CHECK(wrong == 0);
}

inline void check_unchanged(const Tensor& input, const Layout& layout, DType dtype) {
    std::size_t wrong = 0;
    if (layout.elements == 0) return;  // no byte to compare, and perhaps no address to count from
    const std::byte* base = input.bytes() - layout.offset * static_cast<std::int64_t>(size_of(dtype));
    for (std::int64_t i = 0; i < layout.elements * static_cast<std::int64_t>(size_of(dtype)); ++i) {
        wrong += base[i] != byte_of(rank(), i, dtype) ? 1U : 0U;
    }
    CHECK(wrong == 0);
}

}  // namespace plumb::test
