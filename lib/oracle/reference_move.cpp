#include "oracle/reference_move.h"

#include <limits>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::oracle::reference {

namespace {

std::int64_t signed_size(const PerRank& in) {
    return static_cast<std::int64_t>(in.size());
}

}  // namespace

void require_equal_shapes_but(const PerRank& in, int free_dim) {
    if (in.empty()) throw ArgumentError("in: no ranks");
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (!in[i].defined()) throw ArgumentError(fmt::format("in: position {} has no tensor", i));
        bool equal = in[i].dtype() == in[0].dtype() && in[i].ndim() == in[0].ndim();
        for (int dim = 0; equal && dim < in[0].ndim(); ++dim)
            equal = dim == free_dim || in[i].extent(dim) == in[0].extent(dim);
        if (!equal)
            throw ArgumentError(fmt::format("in: position {} has {} {}, position 0 has {} {}", i,
                                            name(in[i].dtype()), to_string(in[i].shape()),
                                            name(in[0].dtype()), to_string(in[0].shape())));
    }
}

void require_equal_shapes(const PerRank& in) {
    require_equal_shapes_but(in, -1);
}

int resolve_dim(std::int64_t dim, const Tensor& tensor) {
    const std::int64_t ndim = tensor.ndim();
    if (dim < -ndim || dim >= ndim)
        throw ArgumentError(fmt::format("dim: {} for a tensor of {} dimensions", dim, ndim));
    return static_cast<int>(dim < 0 ? dim + ndim : dim);
}

std::int64_t added(std::int64_t a, std::int64_t b) {
    if (a > std::numeric_limits<std::int64_t>::max() - b)
        throw ArgumentError(fmt::format("extent: {} + {} is beyond 2^63-1", a, b));
    return a + b;
}

std::int64_t multiplied(std::int64_t a, std::int64_t b) {
    if (b != 0 && a > std::numeric_limits<std::int64_t>::max() / b)
        throw ArgumentError(fmt::format("extent: {} * {} is beyond 2^63-1", a, b));
    return a * b;
}

Tensor copy_of(const Tensor& tensor) {
    return build(tensor.shape(), tensor.dtype(),
                 [&](const Index& index) { return element_at(tensor, index); });
}

Tensor joined(const PerRank& in, int dim) {
    require_equal_shapes_but(in, dim);
    std::int64_t total = 0;
    for (const Tensor& part : in)
        total = added(total, part.extent(dim));
    return build(in[0].shape().with(dim, total), in[0].dtype(), [&](const Index& index) {
        std::size_t i = 0;
        std::int64_t start = 0;
        while (at(index, dim) >= start + in[i].extent(dim))
            start += in[i++].extent(dim);
        return element_at(in[i], moved(index, dim, at(index, dim) - start));
    });
}

PerRank pieces(const Tensor& tensor, int dim, const std::vector<std::int64_t>& sizes) {
    if (dim >= tensor.ndim()) throw ArgumentError(fmt::format("in: a tensor without dimension {}", dim));
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) {
        if (size < 0) throw ArgumentError(fmt::format("split: {} is negative", size));
        total = added(total, size);
    }
    if (total != tensor.extent(dim))
        throw ArgumentError(fmt::format("split: the sizes add up to {}, dimension {} has {}", total, dim,
                                        tensor.extent(dim)));
    PerRank out;
    std::int64_t start = 0;
    for (const std::int64_t size : sizes) {
        out.push_back(build(tensor.shape().with(dim, size), tensor.dtype(), [&](const Index& index) {
            return element_at(tensor, moved(index, dim, start + at(index, dim)));
        }));
        start += size;
    }
    return out;
}

PerRank chunks(const Tensor& tensor, int dim, std::size_t n) {
    if (dim >= tensor.ndim()) throw ArgumentError(fmt::format("in: a tensor without dimension {}", dim));
    const auto parts = static_cast<std::int64_t>(n);
    if (tensor.extent(dim) % parts != 0)
        throw ArgumentError(fmt::format("in: extent {} of dimension {} is not divisible by {}",
                                        tensor.extent(dim), dim, parts));
    return pieces(tensor, dim, std::vector<std::int64_t>(n, tensor.extent(dim) / parts));
}

PerRank scatter(const std::vector<Tensor>& list) {
    require_equal_shapes(list);
    PerRank out;
    for (const Tensor& tensor : list)
        out.push_back(copy_of(tensor));
    return out;
}

std::vector<Tensor> gather(const PerRank& in) {
    return scatter(in);
}

PerRank broadcast(const PerRank& in, GroupRank src) {
    require_equal_shapes(in);
    if (src.value < 0 || src.value >= signed_size(in))
        throw ArgumentError(fmt::format("src: {} in a group of {}", src.value, in.size()));
    PerRank out;
    for (std::size_t i = 0; i < in.size(); ++i)
        out.push_back(copy_of(in[static_cast<std::size_t>(src.value)]));
    return out;
}

PerRank all_gather(const PerRank& in, Form form) {
    require_equal_shapes(in);
    const Tensor& first = in.front();
    const bool stacked = form == Form::stack || first.ndim() == 0;
    Shape shape;
    if (stacked) shape.push_back(signed_size(in));
    for (const std::int64_t extent : first.shape())
        shape.push_back(extent);

    PerRank out;
    for (std::size_t rank = 0; rank < in.size(); ++rank) {
        if (!stacked) {
            out.push_back(joined(in, 0));
            continue;
        }
        out.push_back(build(shape, first.dtype(), [&](const Index& index) {
            Index inner{};
            for (std::size_t dim = 1; dim < kMaxDims; ++dim)
                inner[dim - 1] = index[dim];
            return element_at(in[static_cast<std::size_t>(index[0])], inner);
        }));
    }
    return out;
}

PerRank all_to_all_single(const PerRank& in) {
    require_equal_shapes(in);
    const std::size_t n = in.size();
    std::vector<PerRank> received(n);
    for (const Tensor& tensor : in) {
        const PerRank parts = chunks(tensor, 0, n);
        for (std::size_t j = 0; j < n; ++j)
            received[j].push_back(parts[j]);
    }
    PerRank out;
    for (const PerRank& parts : received)
        out.push_back(joined(parts, 0));
    return out;
}

PerRank all_to_all_single(const PerRank& in, const std::vector<std::vector<std::int64_t>>& input_split,
                          const std::vector<std::vector<std::int64_t>>& output_split) {
    require_equal_shapes_but(in, 0);
    const std::size_t n = in.size();
    const auto is_square = [n](const std::vector<std::vector<std::int64_t>>& split) {
        bool square = split.size() == n;
        for (const auto& row : split)
            square = square && row.size() == n;
        return square;
    };
    if (!is_square(input_split) || !is_square(output_split))
        throw ArgumentError(fmt::format("input_split, output_split: {} lists of {} sizes are needed", n, n));
    std::vector<PerRank> received(n);
    for (std::size_t i = 0; i < n; ++i) {
        const PerRank parts = pieces(in[i], 0, input_split[i]);
        for (std::size_t j = 0; j < n; ++j) {
            if (output_split[j][i] != input_split[i][j])
                throw ArgumentError(
                    fmt::format("output_split: position {} expects {} rows from {}, which sends {}", j,
                                output_split[j][i], i, input_split[i][j]));
            received[j].push_back(parts[j]);
        }
    }
    PerRank out;
    for (const PerRank& parts : received)
        out.push_back(joined(parts, 0));
    return out;
}

}  // namespace plumb::oracle::reference
