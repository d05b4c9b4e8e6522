#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/oracle/reference.h>

#include "oracle/reference_move.h"

namespace plumb::oracle::reference {

namespace {

int plain_dim(std::int64_t dim, const Tensor& tensor, const char* what) {
    if (dim < 0 || dim >= tensor.ndim())
        throw ArgumentError(fmt::format("{}: {} for a tensor of {} dimensions", what, dim, tensor.ndim()));
    return static_cast<int>(dim);
}

void require_gradient_type(const PerRank& grads) {
    const DType dtype = grads.front().dtype();
    if (!is_floating(dtype) && !is_complex(dtype))
        throw ArgumentError(fmt::format("grad_out: {} has no gradients", name(dtype)));
}

/// Replaces each component x of an element by change(x), computed in f64 for f64 and in f32 for all others
/// and rounded once.
template <class Change>
void change_element(DType dtype, std::byte* element, Change change) {
    const DType part = component_type(dtype);
    for (std::size_t i = 0; i < components(dtype); ++i, element += size_of(part)) {
        const double value = load_real(part, element);
        if (part == DType::f64)
            store_real(part, element, change(value, i));
        else
            store_real(part, element, change(static_cast<float>(value), i));
    }
}

template <class Change>
Tensor changed(Tensor tensor, Change change) {
    std::byte* element = tensor.bytes();
    const std::int64_t count = tensor.element_count();
    for (std::int64_t i = 0; i < count; ++i, element += size_of(tensor.dtype()))
        change_element(tensor.dtype(), element, change);
    return tensor;
}

Tensor divided(const Tensor& tensor, std::size_t n) {
    return changed(tensor, [n](auto value, std::size_t) { return value / static_cast<decltype(value)>(n); });
}
Tensor times(const Tensor& tensor, std::size_t n) {
    return changed(tensor, [n](auto value, std::size_t) { return value * static_cast<decltype(value)>(n); });
}

/// element += addend, or += zero where there is none.
void add_to_element(DType dtype, std::byte* element, const std::byte* addend) {
    const DType part = component_type(dtype);
    change_element(dtype, element, [&](auto value, std::size_t i) {
        const double other = addend == nullptr ? 0.0 : load_real(part, addend + i * size_of(part));
        return value + static_cast<decltype(value)>(other);
    });
}

void require_widths(std::int64_t left, std::int64_t right) {
    if (left < 0) throw ArgumentError(fmt::format("left: {} is negative", left));
    if (right < 0) throw ArgumentError(fmt::format("right: {} is negative", right));
}

void require_wide_enough(std::int64_t extent, std::int64_t left, std::int64_t right, std::size_t position) {
    if (extent < left || extent < right)
        throw ArgumentError(fmt::format("left, right: {} and {} at position {}, which has {} slices", left,
                                        right, position, extent));
}

}  // namespace

PerRank all_to_all(const PerRank& in, std::int64_t gather_dim, std::int64_t scatter_dim) {
    require_equal_shapes(in);
    const int g = plain_dim(gather_dim, in.front(), "gather_dim");
    const int s = plain_dim(scatter_dim, in.front(), "scatter_dim");
    if (g == s) throw ArgumentError(fmt::format("gather_dim, scatter_dim: both are {}", g));
    const auto n = static_cast<std::int64_t>(in.size());
    const std::int64_t gathered = in.front().extent(g);
    const std::int64_t scattered = in.front().extent(s);
    if (scattered % n != 0)
        throw ArgumentError(fmt::format("scatter_dim: extent {} is not divisible by {}", scattered, n));

    const Shape shape = in.front().shape().with(s, scattered / n).with(g, multiplied(gathered, n));
    PerRank out;
    for (std::int64_t j = 0; j < n; ++j)
        out.push_back(build(shape, in.front().dtype(), [&](const Index& index) {
            const std::int64_t from = at(index, g) / gathered;
            const Index there =
                moved(moved(index, g, at(index, g) % gathered), s, j * (scattered / n) + at(index, s));
            return element_at(in[static_cast<std::size_t>(from)], there);
        }));
    return out;
}

PerRank all_to_all_backward(const PerRank& grad_out, std::int64_t gather_dim, std::int64_t scatter_dim) {
    return all_to_all(grad_out, scatter_dim, gather_dim);
}

PerRank scatter_to_sequence_parallel_region(const PerRank& in, Source source, std::int64_t dim) {
    if (in.empty() || !in.front().defined()) throw ArgumentError("in: position 0 has no tensor");
    if (in.size() == 1) return {copy_of(in.front())};
    if (source == Source::rank0) return chunks(in.front(), resolve_dim(dim, in.front()), in.size());
    require_equal_shapes(in);
    PerRank out;
    for (std::size_t i = 0; i < in.size(); ++i)
        out.push_back(chunks(in[i], resolve_dim(dim, in[i]), in.size())[i]);
    return out;
}

PerRank scatter_to_sequence_parallel_region_backward(const PerRank& grad_out, std::int64_t dim) {
    if (grad_out.empty() || !grad_out.front().defined())
        throw ArgumentError("grad_out: position 0 has no tensor");
    require_gradient_type(grad_out);
    if (grad_out.size() == 1) return {copy_of(grad_out.front())};
    const int d = resolve_dim(dim, grad_out.front());
    PerRank out;
    for (std::size_t i = 0; i < grad_out.size(); ++i)
        out.push_back(divided(joined(grad_out, d), grad_out.size()));
    return out;
}

PerRank gather_from_sequence_parallel_region(const PerRank& in, std::int64_t dim) {
    if (in.empty() || !in.front().defined()) throw ArgumentError("in: position 0 has no tensor");
    if (in.size() == 1) return {copy_of(in.front())};
    const int d = resolve_dim(dim, in.front());
    PerRank out;
    for (std::size_t i = 0; i < in.size(); ++i)
        out.push_back(joined(in, d));
    return out;
}

PerRank gather_from_sequence_parallel_region_backward(const PerRank& grad_out, Source source,
                                                      std::int64_t dim,
                                                      const std::vector<std::int64_t>& extents) {
    require_equal_shapes(grad_out);
    require_gradient_type(grad_out);
    const std::size_t n = grad_out.size();
    if (n == 1) return {copy_of(grad_out.front())};
    if (!extents.empty() && extents.size() != n)
        throw ArgumentError(fmt::format("extents: {} for {} ranks", extents.size(), n));
    const int d = resolve_dim(dim, grad_out.front());
    PerRank out;
    for (std::size_t i = 0; i < n; ++i) {
        const Tensor& whole = source == Source::rank0 ? grad_out.front() : grad_out[i];
        const PerRank parts = extents.empty() ? chunks(whole, d, n) : pieces(whole, d, extents);
        out.push_back(times(parts[i], n));
    }
    return out;
}

PerRank cp_halo_exchange(const PerRank& in, std::int64_t left, std::int64_t right, std::int64_t dim) {
    require_widths(left, right);
    if (in.empty() || !in.front().defined()) throw ArgumentError("in: position 0 has no tensor");
    const int d = resolve_dim(dim, in.front());
    require_equal_shapes_but(in, d);
    for (std::size_t i = 0; i < in.size(); ++i)
        require_wide_enough(in[i].extent(d), left, right, i);

    PerRank out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const Tensor& own = in[i];
        const Tensor* before = i > 0 ? &in[i - 1] : nullptr;
        const Tensor* after = i + 1 < in.size() ? &in[i + 1] : nullptr;
        const std::int64_t extent = own.extent(d);
        out.push_back(build(own.shape().with(d, left + extent + right), own.dtype(),
                            [&](const Index& index) -> const std::byte* {
                                const std::int64_t t = at(index, d) - left;  // coordinate in the own shard
                                if (t >= 0 && t < extent) return element_at(own, moved(index, d, t));
                                const Tensor* other = t < 0 ? before : after;
                                if (other == nullptr) return nullptr;
                                const std::int64_t there = t < 0 ? other->extent(d) + t : t - extent;
                                return element_at(*other, moved(index, d, there));
                            }));
    }
    return out;
}

PerRank cp_halo_exchange_backward(const PerRank& grad_out, std::int64_t left, std::int64_t right,
                                  std::int64_t dim) {
    require_widths(left, right);
    if (grad_out.empty() || !grad_out.front().defined())
        throw ArgumentError("grad_out: position 0 has no tensor");
    const int d = resolve_dim(dim, grad_out.front());
    require_equal_shapes_but(grad_out, d);
    require_gradient_type(grad_out);

    for (std::size_t i = 0; i < grad_out.size(); ++i) {
        const std::int64_t padded = grad_out[i].extent(d);
        if (left > padded || right > padded - left)
            throw ArgumentError(
                fmt::format("grad_out: position {} has {} slices, fewer than the halos {} and {}", i, padded,
                            left, right));
        require_wide_enough(padded - left - right, left, right, i);
    }

    PerRank out;
    for (std::size_t i = 0; i < grad_out.size(); ++i) {
        const Tensor& own = grad_out[i];
        const Tensor* before = i > 0 ? &grad_out[i - 1] : nullptr;
        const Tensor* after = i + 1 < grad_out.size() ? &grad_out[i + 1] : nullptr;
        const std::int64_t extent = own.extent(d) - left - right;
        const Shape shape = own.shape().with(d, extent);
        Tensor grad = build(shape, own.dtype(), [&](const Index& index) {
            return element_at(own, moved(index, d, at(index, d) + left));
        });
        std::byte* element = grad.bytes();
        for_each_index(shape, [&](const Index& index) {
            const std::int64_t t = at(index, d);
            // The own last `left` slices are the next rank's left halo.
            if (t >= extent - left)
                add_to_element(
                    own.dtype(), element,
                    after == nullptr ? nullptr : element_at(*after, moved(index, d, t - (extent - left))));
            // The own first `right` slices are the previous rank's right halo, its last slices.
            if (t < right)
                add_to_element(own.dtype(), element,
                               before == nullptr
                                   ? nullptr
                                   : element_at(*before, moved(index, d, before->extent(d) - right + t)));
            element += size_of(own.dtype());
        });
        out.push_back(grad);
    }
    return out;
}

}  // namespace plumb::oracle::reference
