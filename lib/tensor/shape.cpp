#include <plumb/tensor/shape.h>

#include <algorithm>
#include <limits>
#include <string>

#include <plumb/core/error.h>

namespace plumb {

namespace {

[[noreturn]] void throw_too_many(std::size_t ndim) {
    throw ArgumentError("shape: " + std::to_string(ndim) + " dimensions given; allowed: at most " +
                        std::to_string(kMaxDims));
}

}  // namespace

Extents::Extents(std::initializer_list<std::int64_t> values)
    : Extents(std::span<const std::int64_t>(values.begin(), values.size())) {}

Extents::Extents(std::span<const std::int64_t> values) {
    if (values.size() > kMaxDims) throw_too_many(values.size());
    std::copy(values.begin(), values.end(), values_.begin());
    ndim_ = static_cast<int>(values.size());
}

Extents Extents::filled(int ndim, std::int64_t value) {
    if (ndim < 0) throw ArgumentError("ndim: " + std::to_string(ndim) + " given; allowed: 0 to 8");
    if (ndim > kMaxDims) throw_too_many(static_cast<std::size_t>(ndim));
    Extents result;
    result.ndim_ = ndim;
    for (int dim = 0; dim < ndim; ++dim)
        result[dim] = value;
    return result;
}

void Extents::push_back(std::int64_t value) {
    if (ndim_ == kMaxDims) throw_too_many(static_cast<std::size_t>(ndim_) + 1);
    values_[static_cast<std::size_t>(ndim_++)] = value;
}

Extents Extents::with(int dim, std::int64_t value) const {
    Extents result = *this;
    result[dim] = value;
    return result;
}

bool operator==(const Extents& a, const Extents& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::int64_t element_count(const Shape& shape) {
    bool any_zero = false;
    for (const std::int64_t extent : shape) {
        if (extent < 0)
            throw ArgumentError("shape: negative extent in " + to_string(shape) +
                                "; allowed: extents of 0 and more");
        any_zero = any_zero || extent == 0;
    }
    if (any_zero) return 0;
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
        if (count > std::numeric_limits<std::int64_t>::max() / extent)
            throw ArgumentError("shape: " + to_string(shape) + " has too many elements; allowed: below 2^63");
        count *= extent;
    }
    return count;
}

Shape multiplied(const Shape& shape, int dim, std::int64_t factor) {
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(shape[dim], factor, &extent))
        throw ArgumentError("shape: extent " + std::to_string(shape[dim]) + " of dim " + std::to_string(dim) +
                            " in " + to_string(shape) + " times " + std::to_string(factor) +
                            " given; allowed: at most 2^63-1");
    return shape.with(dim, extent);
}

Strides contiguous_strides(const Shape& shape) {
    Strides strides = Extents::filled(shape.ndim(), 1);
    // Unsigned, because a shape with a zero extent may have others whose product wraps (and is never used).
    std::uint64_t stride = 1;
    for (int dim = shape.ndim() - 1; dim >= 0; --dim) {
        strides[dim] = static_cast<std::int64_t>(stride);
        stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[dim], 1));
    }
    return strides;
}

int normalise_dim(int dim, int ndim, const char* what) {
    if (dim >= -ndim && dim < ndim) return dim < 0 ? dim + ndim : dim;
    const std::string given = std::string(what) + ": " + std::to_string(dim) + " given for " +
                              std::to_string(ndim) + " dimension" + (ndim == 1 ? "" : "s");
    if (ndim == 0) throw ArgumentError(given + "; a scalar has no dimension to name");
    throw ArgumentError(given + "; allowed: " + std::to_string(-ndim) + " to " + std::to_string(ndim - 1));
}

std::string to_string(const Extents& extents) {
    std::string text = "[";
    for (int dim = 0; dim < extents.ndim(); ++dim) {
        if (dim > 0) text += ", ";
        text += std::to_string(extents[dim]);
    }
    return text + "]";
}

}  // namespace plumb
