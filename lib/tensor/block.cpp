#include <plumb/tensor/block.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <tensor/loop.h>

namespace plumb {

namespace {

using detail::for_each_outer;
using detail::Loop;

/// One dimension of a two-dimensional block.
struct Side {
    std::int64_t extent;
    std::int64_t dst_stride;
    std::int64_t src_stride;
};

Side side(const Loop& loop, int dim) {
    const auto d = static_cast<std::size_t>(dim);
    return {loop.extent[d], loop.dst_stride[d], loop.src_stride[d]};
}

template <std::size_t kSize>
void move_line(std::byte* dst, const std::byte* src, const Side& line) {
    for (std::int64_t i = 0; i < line.extent; ++i)
        std::memcpy(dst + i * line.dst_stride, src + i * line.src_stride, kSize);
}

// Side of a square tile: long enough to use whole cache lines on both sides, small enough for the first-level
// cache.
template <std::size_t kSize>
inline constexpr std::int64_t kTile = kSize <= 2 ? 64 : (kSize == 16 ? 16 : 32);

// A tile goes through a dense buffer: its rows lie a large power of two apart as often as not, and such rows
// would push each other out of the cache before their lines are used up.
template <std::size_t kSize>
void move_tile(std::byte* dst, const std::byte* src, const Side& far, const Side& near) {
    constexpr auto pitch = static_cast<std::int64_t>(kSize) * kTile<kSize>;
    std::array<std::byte, static_cast<std::size_t>(pitch * kTile<kSize>)> buffer;
    for (std::int64_t n = 0; n < near.extent; ++n)
        for (std::int64_t f = 0; f < far.extent; ++f)
            std::memcpy(buffer.data() + f * pitch + n * static_cast<std::int64_t>(kSize),
                        src + n * near.src_stride + f * far.src_stride, kSize);
    const Side line{near.extent, near.dst_stride, static_cast<std::int64_t>(kSize)};
    for (std::int64_t f = 0; f < far.extent; ++f) {
        if (near.dst_stride == static_cast<std::int64_t>(kSize))
            std::memcpy(dst + f * far.dst_stride, buffer.data() + f * pitch,
                        static_cast<std::size_t>(near.extent) * kSize);
        else
            move_line<kSize>(dst + f * far.dst_stride, buffer.data() + f * pitch, line);
    }
}

// `near` is dense in dst, `far` is the denser one in src.
template <std::size_t kSize>
void move_plane(std::byte* dst, const std::byte* src, const Side& far, const Side& near) {
    constexpr std::int64_t tile = kTile<kSize>;
    for (std::int64_t f = 0; f < far.extent; f += tile)
        for (std::int64_t n = 0; n < near.extent; n += tile)
            move_tile<kSize>(dst + f * far.dst_stride + n * near.dst_stride,
                             src + f * far.src_stride + n * near.src_stride,
                             {std::min(tile, far.extent - f), far.dst_stride, far.src_stride},
                             {std::min(tile, near.extent - n), near.dst_stride, near.src_stride});
}

/// The dimension that is densest in src; the innermost one where there is a choice.
int densest_in_src(const Loop& loop) {
    int best = loop.ndim - 1;
    for (int dim = loop.ndim - 2; dim >= 0; --dim)
        if (std::abs(side(loop, dim).src_stride) < std::abs(side(loop, best).src_stride)) best = dim;
    return best;
}

template <std::size_t kSize>
void move_units(Loop loop) {
    if (loop.ndim == 0) {
        std::memcpy(loop.dst, loop.src, kSize);
        return;
    }
    const Side near = side(loop, loop.ndim - 1);
    const int dense = densest_in_src(loop);
    if (dense == loop.ndim - 1) {
        for_each_outer(loop, 1,
                       [&](std::byte* dst, const std::byte* src) { move_line<kSize>(dst, src, near); });
        return;
    }
    const Side far = side(loop, dense);
    loop.remove(loop.ndim - 1);
    loop.remove(dense);
    for_each_outer(loop, 0,
                   [&](std::byte* dst, const std::byte* src) { move_plane<kSize>(dst, src, far, near); });
}

/// Removes the innermost dimension if it is dense in both; the bytes that then lie together.
std::size_t take_run(Loop& loop, std::size_t element) {
    if (loop.ndim == 0) return element;
    const Side inner = side(loop, loop.ndim - 1);
    const auto step = static_cast<std::int64_t>(element);
    if (inner.dst_stride != step || inner.src_stride != step) return element;
    loop.remove(loop.ndim - 1);
    return element * static_cast<std::size_t>(inner.extent);
}

void move(Loop loop, std::size_t element) {
    const std::size_t run = take_run(loop, element);
    switch (run) {
        case 1:
            return move_units<1>(loop);
        case 2:
            return move_units<2>(loop);
        case 4:
            return move_units<4>(loop);
        case 8:
            return move_units<8>(loop);
        case 16:
            return move_units<16>(loop);
        default:
            for_each_outer(loop, 0,
                           [run](std::byte* dst, const std::byte* src) { std::memcpy(dst, src, run); });
    }
}

void move(const View& dst, const ConstView& src) {
    if (dst.element_count() == 0) return;
    move(detail::plan(dst, src), size_of(dst.dtype));
}

}  // namespace

void copy(const View& dst, const ConstView& src) {
    detail::require_alike("copy", dst, src);
    move(dst, src);
}

void pack(std::byte* dst, const ConstView& src) {
    detail::require_host("pack", src.space);
    move(contiguous_view(dst, src.dtype, src.shape), src);
}

void unpack(const View& dst, const std::byte* src) {
    detail::require_host("unpack", dst.space);
    move(dst, contiguous_view(src, dst.dtype, dst.shape));
}

void fill_zero(const View& dst) {
    detail::require_host("fill_zero", dst.space);
    if (dst.element_count() == 0) return;
    Loop loop = detail::plan(dst, dst);
    const std::size_t run = take_run(loop, size_of(dst.dtype));
    for_each_outer(loop, 0, [run](std::byte* data, const std::byte*) { std::memset(data, 0, run); });
}

}  // namespace plumb
