#include <tensor/loop.h>

#include <string>
#include <utility>

#include <plumb/core/error.h>

namespace plumb::detail {

namespace {

void sort_by_dst_stride(Loop& loop) {
    const auto before = [&](std::size_t a, std::size_t b) {
        if (loop.dst_stride[a] != loop.dst_stride[b]) return loop.dst_stride[a] > loop.dst_stride[b];
        return loop.src_stride[a] > loop.src_stride[b];
    };
    for (std::size_t end = 1; end < static_cast<std::size_t>(loop.ndim); ++end)
        for (std::size_t d = end; d > 0 && before(d, d - 1); --d) {
            std::swap(loop.extent[d], loop.extent[d - 1]);
            std::swap(loop.dst_stride[d], loop.dst_stride[d - 1]);
            std::swap(loop.src_stride[d], loop.src_stride[d - 1]);
        }
}

void merge(Loop& loop) {
    for (int dim = loop.ndim - 2; dim >= 0; --dim) {
        const auto outer = static_cast<std::size_t>(dim);
        const std::size_t inner = outer + 1;
        if (loop.dst_stride[outer] != loop.dst_stride[inner] * loop.extent[inner]) continue;
        if (loop.src_stride[outer] != loop.src_stride[inner] * loop.extent[inner]) continue;
        loop.extent[inner] *= loop.extent[outer];
        loop.remove(dim);
    }
}

}  // namespace

void Loop::remove(int dim) {
    for (auto d = static_cast<std::size_t>(dim); d + 1 < static_cast<std::size_t>(ndim); ++d) {
        extent[d] = extent[d + 1];
        dst_stride[d] = dst_stride[d + 1];
        src_stride[d] = src_stride[d + 1];
    }
    --ndim;
}

void require_host(const char* function, MemorySpace space) {
    if (space == MemorySpace::host) return;
    throw ArgumentError(std::string(function) + ": memory space '" + std::string(name(space)) +
                        "' given; allowed: 'host'");
}

void require_alike(const char* function, const View& dst, const ConstView& src) {
    if (dst.dtype != src.dtype)
        throw ArgumentError(std::string(function) + ": dst has dtype " + std::string(name(dst.dtype)) +
                            ", src " + std::string(name(src.dtype)) + "; they must be equal");
    if (!(dst.shape == src.shape))
        throw ArgumentError(std::string(function) + ": dst has shape " + to_string(dst.shape) + ", src " +
                            to_string(src.shape) + "; they must be equal");
    require_host(function, dst.space);
    require_host(function, src.space);
}

Loop plan(const View& dst, const ConstView& src) {
    Loop loop;
    loop.dst = dst.data;
    loop.src = src.data;
    const auto element = static_cast<std::int64_t>(size_of(dst.dtype));
    for (int dim = 0; dim < dst.ndim(); ++dim) {
        if (dst.shape[dim] == 1) continue;
        const auto d = static_cast<std::size_t>(loop.ndim++);
        loop.extent[d] = dst.shape[dim];
        loop.dst_stride[d] = dst.strides[dim] * element;
        loop.src_stride[d] = src.strides[dim] * element;
        if (loop.dst_stride[d] >= 0) continue;
        loop.dst += loop.dst_stride[d] * (loop.extent[d] - 1);
        loop.src += loop.src_stride[d] * (loop.extent[d] - 1);
        loop.dst_stride[d] = -loop.dst_stride[d];
        loop.src_stride[d] = -loop.src_stride[d];
    }
    sort_by_dst_stride(loop);
    merge(loop);
    return loop;
}

}  // namespace plumb::detail
