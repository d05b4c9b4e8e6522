#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <plumb/mpi/counts.h>
#include <plumb/tensor/tensor.h>

#include "tensor/layouts.h"

namespace plumb::test {

/// The largest count that an MPI call is given, until the end of the block. The same on all ranks, while
/// nothing is in flight.
class CountLimit {
  public:
    explicit CountLimit(std::int64_t limit) : before_(mpi::count_limit()) { mpi::set_count_limit(limit); }
    ~CountLimit() { mpi::set_count_limit(before_); }
    CountLimit(const CountLimit&) = delete;
    CountLimit& operator=(const CountLimit&) = delete;

  private:
    std::int64_t before_;
};

using Bytes = std::vector<std::byte>;

/// A tensor laid out by hand in a buffer of its own; every byte is a function of `seed` (the rank, say) and
/// its place. What it holds, and what became of it, is found by the layout's arithmetic, not by Plumb.
class Sample {
  public:
    Sample(Layout layout, DType dtype, int seed)
        : layout_(std::move(layout)), dtype_(dtype), buffer_(std::make_shared<Bytes>(made(seed))) {
        original_ = *buffer_;
    }

    /// Keeps the buffer alive.
    [[nodiscard]] Tensor tensor() const {
        const auto offset = layout_.offset * static_cast<std::int64_t>(size_of(dtype_));
        return Tensor::from_foreign(buffer_->data() + offset, dtype_, layout_.shape, layout_.strides,
                                    [buffer = buffer_] {});
    }
    [[nodiscard]] const Shape& shape() const { return layout_.shape; }
    [[nodiscard]] const Layout& layout() const { return layout_; }

    /// What it was made with, row-major.
    [[nodiscard]] Bytes bytes() const { return elements(original_); }
    [[nodiscard]] bool untouched() const { return *buffer_ == original_; }
    /// Whether the elements are `wanted`, row-major, and all between them is as it was made.
    [[nodiscard]] bool holds(std::span<const std::byte> wanted) const {
        Bytes whole = original_;
        const std::size_t size = size_of(dtype_);
        const auto places = positions(layout_);
        if (wanted.size() != places.size() * size) {
            return false;
        }
        for (std::size_t i = 0; i < places.size(); ++i) {
            std::copy_n(wanted.data() + i * size, size,
                        whole.data() + static_cast<std::size_t>(places[i]) * size);
        }
        return *buffer_ == whole;
    }

  private:
    [[nodiscard]] Bytes made(int seed) const {
        Bytes bytes(std::max<std::size_t>(1, static_cast<std::size_t>(layout_.elements) * size_of(dtype_)));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const std::uint64_t mixed =
                (static_cast<std::uint64_t>(seed) * 1000003U + i + 1) * 0x9E3779B97F4A7C15U;
            bytes[i] =
                static_cast<std::byte>(dtype_ == DType::boolean ? mixed >> 40 & 1U : mixed >> 40 & 0xFFU);
        }
        return bytes;
    }
    [[nodiscard]] Bytes elements(const Bytes& buffer) const {
        const std::size_t size = size_of(dtype_);
        Bytes result;
        for (const auto place : positions(layout_)) {
            const auto* first = buffer.data() + static_cast<std::size_t>(place) * size;
            result.insert(result.end(), first, first + size);
        }
        return result;
    }

    Layout layout_;
    DType dtype_;
    std::shared_ptr<Bytes> buffer_;
    Bytes original_;
};

/// The memory of a contiguous tensor.
inline Bytes contents(const Tensor& tensor) {
    return {tensor.bytes(), tensor.bytes() + tensor.view().bytes()};
}

/// Joins row-major contents along dim 0.
inline Bytes joined(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

/// Scalars, zero extents, up to eight dims.
inline std::vector<Shape> sample_shapes() {
    return {{}, {1}, {0}, {5}, {2, 3}, {3, 0, 2}, {4, 3, 2}, {1, 2, 1, 3, 1, 2, 1, 2}};
}

/// Calls f(shape, dtype, number): all layouts (of `number` of them) of all sample shapes as f32, then of one
/// shape in every dtype. The caller picks its layout by the number, differently on every rank if it likes.
template <class F>
void for_each_sample(F&& f) {
    constexpr int kLayouts = 12;  // source_layouts; distinct_layouts has 8
    for (const Shape& shape : sample_shapes()) {
        for (int number = 0; number < kLayouts; ++number) {
            f(shape, DType::f32, number);
        }
    }
    for (const DType dtype : kAllDTypes) {
        for (int number = 0; number < kLayouts; number += 5) {
            f(Shape{2, 3}, dtype, number);
        }
    }
}

/// For what is only read: strides of 0 and sliding windows included.
inline Layout source_layout(const Shape& shape, int number) {
    const auto layouts = source_layouts(shape);
    return layouts[static_cast<std::size_t>(number) % layouts.size()];
}
/// For what is written.
inline Layout target_layout(const Shape& shape, int number) {
    const auto layouts = distinct_layouts(shape);
    return layouts[static_cast<std::size_t>(number) % layouts.size()];
}

}  // namespace plumb::test
