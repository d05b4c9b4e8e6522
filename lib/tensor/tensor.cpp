#include <plumb/tensor/tensor.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

namespace plumb {

namespace {

/// Bytes before and after element (0, …, 0), that element included in `after`.
struct Reach {
    std::int64_t before = 0;
    std::int64_t after = 0;
};

[[noreturn]] void throw_reach(const Shape& shape, const Strides& strides) {
    throw ArgumentError("from_foreign: shape " + to_string(shape) + " with strides " + to_string(strides) +
                        " reaches further than 2^63-1 bytes");
}

Reach reach(const Shape& shape, const Strides& strides, DType dtype) {
    if (element_count(shape) == 0) return {};
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    Reach result{0, size};
    for (int dim = 0; dim < shape.ndim(); ++dim) {
        std::int64_t step = 0;
        if (__builtin_mul_overflow(shape[dim] - 1, strides[dim], &step) ||
            __builtin_mul_overflow(step, size, &step) || step == std::numeric_limits<std::int64_t>::min())
            throw_reach(shape, strides);
        std::int64_t& side = step < 0 ? result.before : result.after;
        if (__builtin_add_overflow(side, step < 0 ? -step : step, &side)) throw_reach(shape, strides);
    }
    std::int64_t total = 0;
    if (__builtin_add_overflow(result.before, result.after, &total)) throw_reach(shape, strides);
    return result;
}

std::size_t byte_count(const Shape& shape, DType dtype) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / size_of(dtype))
        throw std::bad_alloc();
    return count * size_of(dtype);
}

void require_count(const Shape& shape, std::size_t given) {
    if (static_cast<std::size_t>(element_count(shape)) == given) return;
    throw ArgumentError("Tensor::of: " + std::to_string(given) + " values given for shape " +
                        to_string(shape) + "; allowed: " + std::to_string(element_count(shape)));
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, MemorySpace space) {
    auto storage = std::make_shared<Storage>(Storage::allocate(byte_count(shape, dtype), space));
    const View view = contiguous_view(storage->data(), dtype, shape, space);
    return {std::move(storage), view};
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, MemorySpace space) {
    Tensor result = empty(shape, dtype, space);
    fill_zero(result.view());
    return result;
}

Tensor Tensor::of_bytes(const Shape& shape, DType dtype, std::span<const std::byte> values,
                        std::size_t count) {
    require_count(shape, count);
    Tensor result = empty(shape, dtype);
    if (!values.empty()) std::memcpy(result.bytes(), values.data(), values.size());
    return result;
}

Tensor Tensor::of_bools(const Shape& shape, const std::vector<bool>& values) {
    require_count(shape, values.size());
    Tensor result = empty(shape, DType::boolean);
    std::transform(values.begin(), values.end(), result.bytes(),
                   [](bool value) { return value ? std::byte{1} : std::byte{0}; });
    return result;
}

Tensor Tensor::from_foreign(void* data, DType dtype, const Shape& shape, const Strides& strides,
                            std::function<void()> deleter, MemorySpace space) {
    if (shape.ndim() != strides.ndim())
        throw ArgumentError("from_foreign: strides " + to_string(strides) + " given for shape " +
                            to_string(shape) + "; allowed: one stride per dimension");
    if (data == nullptr && plumb::element_count(shape) > 0)
        throw ArgumentError("from_foreign: data is null for shape " + to_string(shape) +
                            "; allowed: null only where there are no elements");
    const Reach around = reach(shape, strides, dtype);
    auto* const first = static_cast<std::byte*>(data);
    std::byte* const lowest = around.before == 0 ? first : first - around.before;
    // In this order nothing can throw once the storage has the deleter: on failure the caller keeps the
    // memory.
    auto storage = std::make_shared<Storage>();
    *storage = Storage::adopt(lowest, static_cast<std::size_t>(around.before + around.after), space,
                              std::move(deleter));
    return {std::move(storage), View{first, dtype, shape, strides, space}};
}

Tensor Tensor::transpose(int dim_a, int dim_b) const {
    require_defined("transpose");
    return {storage_, plumb::transpose(view_, normalise_dim(dim_a, ndim(), "transpose: dim_a"),
                                       normalise_dim(dim_b, ndim(), "transpose: dim_b"))};
}

Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length) const {
    require_defined("narrow");
    return {storage_, plumb::narrow(view_, normalise_dim(dim, ndim(), "narrow: dim"), start, length)};
}

Tensor Tensor::select(int dim, std::int64_t index) const {
    require_defined("select");
    return {storage_, plumb::select(view_, normalise_dim(dim, ndim(), "select: dim"), index)};
}

Tensor Tensor::stride_by(int dim, std::int64_t step) const {
    require_defined("stride_by");
    const int at = normalise_dim(dim, ndim(), "stride_by: dim");
    if (step < 1)
        throw ArgumentError("stride_by: step " + std::to_string(step) + " given; allowed: 1 and more");
    View view = view_;
    const std::int64_t extent = view.shape[at];
    view.shape[at] = extent == 0 ? 0 : (extent - 1) / step + 1;
    // A single element is never stepped from, and a huge step must not overflow.
    if (view.shape[at] > 1) view.strides[at] *= step;
    return {storage_, view};
}

Tensor Tensor::expand(const Shape& shape) const {
    require_defined("expand");
    const auto fail = [&]() {
        throw ArgumentError("expand: shape " + to_string(shape) + " given for a tensor of shape " +
                            to_string(view_.shape) +
                            "; allowed: as many dimensions, only extents of 1 changed");
    };
    if (shape.ndim() != ndim()) fail();
    View view = view_;
    for (int dim = 0; dim < ndim(); ++dim) {
        if (shape[dim] == view.shape[dim]) continue;
        if (view.shape[dim] != 1 || shape[dim] < 0) fail();
        view.shape[dim] = shape[dim];
        view.strides[dim] = 0;
    }
    static_cast<void>(view.element_count());  // throws where the product is beyond 2^63-1
    return {storage_, view};
}

Tensor Tensor::reshape(const Shape& shape) const {
    require_defined("reshape");
    if (!is_contiguous())
        throw ArgumentError("reshape: the tensor of shape " + to_string(view_.shape) + " has strides " +
                            to_string(view_.strides) + "; allowed: contiguous tensors");
    if (plumb::element_count(shape) != element_count())
        throw ArgumentError("reshape: shape " + to_string(shape) + " given for " +
                            std::to_string(element_count()) + " elements of shape " + to_string(view_.shape) +
                            "; allowed: as many elements");
    return {storage_, contiguous_view(view_.data, view_.dtype, shape, view_.space)};
}

Tensor Tensor::clone() const {
    require_defined("clone");
    Tensor result = empty(view_.shape, view_.dtype, view_.space);
    copy(result.view(), view_);
    return result;
}

Tensor Tensor::contiguous() const {
    require_defined("contiguous");
    return is_contiguous() ? *this : clone();
}

std::vector<bool> Tensor::to_bools() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(element_count()));
    copy_out(*this, bytes);
    std::vector<bool> values(bytes.size());
    std::transform(bytes.begin(), bytes.end(), values.begin(),
                   [](std::byte value) { return value != std::byte{0}; });
    return values;
}

void Tensor::require_defined(const char* what) const {
    if (!defined()) throw ArgumentError(std::string(what) + ": the tensor is undefined");
}

void Tensor::require_dtype(DType dtype) const {
    require_defined("element access");
    if (dtype != view_.dtype)
        throw ArgumentError("element type " + std::string(name(dtype)) + " asked of a tensor of dtype " +
                            std::string(name(view_.dtype)) + "; they must be equal");
}

void copy_out(const Tensor& tensor, std::span<std::byte> out) {
    if (!tensor.defined()) throw ArgumentError("copy_out: the tensor is undefined");
    if (out.size() != tensor.view().bytes())
        throw ArgumentError("copy_out: out has " + std::to_string(out.size()) + " bytes; allowed: " +
                            std::to_string(tensor.view().bytes()) + ", as many as the tensor");
    pack(out.data(), tensor.view());
}

}  // namespace plumb
