#include <plumb/tensor/view.h>

#include <string>
#include <utility>

#include <plumb/core/error.h>

namespace plumb {

namespace {

void require_dim(const Shape& shape, int dim, const char* what) {
    if (dim >= 0 && dim < shape.ndim()) return;
    throw ArgumentError(std::string(what) + ": " + std::to_string(dim) + " given for shape " +
                        to_string(shape) + "; allowed: 0 to " + std::to_string(shape.ndim() - 1));
}

// An empty view's pointer may be null or one past the end: it is never moved.
template <class Byte>
void advance(BasicView<Byte>& view, int dim, std::int64_t steps) {
    if (view.element_count() == 0) return;
    view.data += steps * view.strides[dim] * static_cast<std::int64_t>(size_of(view.dtype));
}

template <class Byte>
BasicView<Byte> narrow_view(BasicView<Byte> view, int dim, std::int64_t start, std::int64_t length) {
    require_dim(view.shape, dim, "narrow: dim");
    const std::int64_t extent = view.shape[dim];
    if (start < 0 || length < 0 || start > extent || length > extent - start)
        throw ArgumentError("narrow: start " + std::to_string(start) + " and length " +
                            std::to_string(length) + " given for extent " + std::to_string(extent) +
                            " of dim " + std::to_string(dim) +
                            "; allowed: 0 <= start, 0 <= length, start + length <= extent");
    view.shape[dim] = length;
    advance(view, dim, start);
    return view;
}

template <class Byte>
BasicView<Byte> transpose_view(BasicView<Byte> view, int dim_a, int dim_b) {
    require_dim(view.shape, dim_a, "transpose: dim_a");
    require_dim(view.shape, dim_b, "transpose: dim_b");
    std::swap(view.shape[dim_a], view.shape[dim_b]);
    std::swap(view.strides[dim_a], view.strides[dim_b]);
    return view;
}

template <class Byte>
BasicView<Byte> select_view(BasicView<Byte> view, int dim, std::int64_t index) {
    require_dim(view.shape, dim, "select: dim");
    if (index < 0 || index >= view.shape[dim])
        throw ArgumentError("select: index " + std::to_string(index) + " given for extent " +
                            std::to_string(view.shape[dim]) + " of dim " + std::to_string(dim) +
                            "; allowed: 0 <= index < extent");
    advance(view, dim, index);
    Shape shape;
    Strides strides;
    for (int other = 0; other < view.ndim(); ++other) {
        if (other == dim) continue;
        shape.push_back(view.shape[other]);
        strides.push_back(view.strides[other]);
    }
    view.shape = shape;
    view.strides = strides;
    return view;
}

}  // namespace

View contiguous_view(std::byte* data, DType dtype, const Shape& shape, MemorySpace space) {
    return {data, dtype, shape, contiguous_strides(shape), space};
}

ConstView contiguous_view(const std::byte* data, DType dtype, const Shape& shape, MemorySpace space) {
    return {data, dtype, shape, contiguous_strides(shape), space};
}

View narrow(const View& view, int dim, std::int64_t start, std::int64_t length) {
    return narrow_view(view, dim, start, length);
}

ConstView narrow(const ConstView& view, int dim, std::int64_t start, std::int64_t length) {
    return narrow_view(view, dim, start, length);
}

View transpose(const View& view, int dim_a, int dim_b) {
    return transpose_view(view, dim_a, dim_b);
}

ConstView transpose(const ConstView& view, int dim_a, int dim_b) {
    return transpose_view(view, dim_a, dim_b);
}

View select(const View& view, int dim, std::int64_t index) {
    return select_view(view, dim, index);
}

ConstView select(const ConstView& view, int dim, std::int64_t index) {
    return select_view(view, dim, index);
}

bool is_contiguous(const ConstView& view) {
    if (view.element_count() == 0) return true;
    std::int64_t expected = 1;
    for (int dim = view.ndim() - 1; dim >= 0; --dim) {
        if (view.shape[dim] == 1) continue;
        if (view.strides[dim] != expected) return false;
        expected *= view.shape[dim];
    }
    return true;
}

}  // namespace plumb
