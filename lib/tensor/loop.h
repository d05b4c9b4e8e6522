#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <plumb/tensor/view.h>

namespace plumb::detail {

/// A block operation as nested loops over byte strides, outermost first. Made by `plan`: extents of 1 are
/// gone, no dst stride is negative, dst strides descend, and dimensions that continue each other on both
/// sides are one. So the order is that of dst's memory, not of its indices.
struct Loop {
    int ndim = 0;
    std::array<std::int64_t, kMaxDims> extent{};
    std::array<std::int64_t, kMaxDims> dst_stride{};
    std::array<std::int64_t, kMaxDims> src_stride{};
    std::byte* dst = nullptr;
    const std::byte* src = nullptr;

    void remove(int dim);
};

/// Throws ArgumentError, naming `function`, where shapes or dtypes differ or memory is not the host's.
void require_alike(const char* function, const View& dst, const ConstView& src);
void require_host(const char* function, MemorySpace space);

/// Both views have the same shape and at least one element.
[[nodiscard]] Loop plan(const View& dst, const ConstView& src);

/// Calls `body(dst, src)` for every index of the first `loop.ndim - inner` dimensions.
template <class Body>
void for_each_outer(const Loop& loop, int inner, const Body& body) {
    const int outer = loop.ndim - inner;
    std::array<std::int64_t, kMaxDims> index{};
    std::byte* dst = loop.dst;
    const std::byte* src = loop.src;
    while (true) {
        body(dst, src);
        int dim = outer - 1;
        for (; dim >= 0; --dim) {
            const auto d = static_cast<std::size_t>(dim);
            if (++index[d] < loop.extent[d]) {
                dst += loop.dst_stride[d];
                src += loop.src_stride[d];
                break;
            }
            index[d] = 0;
            dst -= loop.dst_stride[d] * (loop.extent[d] - 1);
            src -= loop.src_stride[d] * (loop.extent[d] - 1);
        }
        if (dim < 0) return;
    }
}

}  // namespace plumb::detail
