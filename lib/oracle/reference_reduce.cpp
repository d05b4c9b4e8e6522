#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/Core>

#include <plumb/core/error.h>
#include <plumb/oracle/reference.h>

#include "oracle/elements.h"
#include "oracle/reference_move.h"

namespace plumb::oracle::reference {

namespace {

template <class Number>
using Column = Eigen::Array<Number, Eigen::Dynamic, 1>;

/// All components of a tensor, row-major, in the type they are accumulated in.
template <class Number>
Column<Number> load(const Tensor& tensor) {
    const DType dtype = component_type(tensor.dtype());
    const std::size_t parts = components(tensor.dtype());
    Column<Number> column(tensor.element_count() * static_cast<std::int64_t>(parts));
    Eigen::Index next = 0;
    for_each_index(tensor.shape(), [&](const Index& index) {
        const std::byte* element = element_at(tensor, index);
        for (std::size_t part = 0; part < parts; ++part, element += size_of(dtype)) {
            if constexpr (std::is_integral_v<Number>)
                column[next++] = static_cast<Number>(load_integer(dtype, element));
            else
                column[next++] = static_cast<Number>(load_real(dtype, element));
        }
    });
    return column;
}

template <class Number>
Tensor store(const Column<Number>& column, const Shape& shape, DType dtype) {
    Tensor tensor = Tensor::empty(shape, dtype);
    const DType part = component_type(dtype);
    std::byte* element = tensor.bytes();
    for (Eigen::Index i = 0; i < column.size(); ++i, element += size_of(part)) {
        if constexpr (std::is_integral_v<Number>)
            store_integer(part, element, static_cast<std::int64_t>(column[i]));
        else
            store_real(part, element, column[i]);
    }
    return tensor;
}

/// The smaller of two numbers: NaN if either is, -0 before +0.
template <class Number>
Number smaller(Number a, Number b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<Number>::quiet_NaN();
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}

template <class Number>
Column<Number> combine_floats(const Column<Number>& a, const Column<Number>& b, Reduction reduction) {
    switch (reduction) {
        case Reduction::sum:
        case Reduction::avg:
            return a + b;
        case Reduction::product:
            return a * b;
        case Reduction::min:
            return a.binaryExpr(b, [](Number x, Number y) { return smaller(x, y); });
        case Reduction::max:
            return a.binaryExpr(b, [](Number x, Number y) { return -smaller(-x, -y); });
        default:
            throw ArgumentError("reduction: no bit operation on floats");
    }
}

/// Integers in 64 bits without sign: what is stored are the low bits, so overflow wraps in every width.
using Bits = std::uint64_t;
Column<Bits> combine_integers(const Column<Bits>& a, const Column<Bits>& b, Reduction reduction) {
    const auto less = [](Bits x, Bits y) {
        return static_cast<std::int64_t>(x) < static_cast<std::int64_t>(y);
    };
    switch (reduction) {
        case Reduction::sum:
            return a + b;
        case Reduction::product:
            return a * b;
        case Reduction::min:
            return a.binaryExpr(b, [less](Bits x, Bits y) { return less(y, x) ? y : x; });
        case Reduction::max:
            return a.binaryExpr(b, [less](Bits x, Bits y) { return less(x, y) ? y : x; });
        case Reduction::band:
            return a.binaryExpr(b, [](Bits x, Bits y) { return x & y; });
        case Reduction::bor:
            return a.binaryExpr(b, [](Bits x, Bits y) { return x | y; });
        case Reduction::bxor:
            return a.binaryExpr(b, [](Bits x, Bits y) { return x ^ y; });
        default:
            throw ArgumentError("reduction: no average of integers");
    }
}

template <class Number>
Tensor fold(const PerRank& in, Reduction reduction) {
    Column<Number> total = load<Number>(in.front());
    for (std::size_t i = 1; i < in.size(); ++i) {
        const Column<Number> next = load<Number>(in[i]);
        if constexpr (std::is_integral_v<Number>)
            total = combine_integers(total, next, reduction);
        else
            total = combine_floats(total, next, reduction);
    }
    if constexpr (!std::is_integral_v<Number>)
        if (reduction == Reduction::avg) total /= static_cast<Number>(in.size());
    return store<Number>(total, in.front().shape(), in.front().dtype());
}

}  // namespace

Reduction reduction_from_name(const std::string& name) {
    constexpr std::pair<const char*, Reduction> kNames[] = {
        {"SUM", Reduction::sum}, {"PRODUCT", Reduction::product}, {"MIN", Reduction::min},
        {"MAX", Reduction::max}, {"AVG", Reduction::avg},         {"BAND", Reduction::band},
        {"BOR", Reduction::bor}, {"BXOR", Reduction::bxor}};
    for (const auto& [text, reduction] : kNames)
        if (name == text) return reduction;
    throw ArgumentError(
        fmt::format("reduce: \"{}\" is not one of SUM, PRODUCT, MIN, MAX, AVG, BAND, BOR, BXOR", name));
}

bool is_defined(Reduction reduction, DType dtype) {
    const bool is_bitwise =
        reduction == Reduction::band || reduction == Reduction::bor || reduction == Reduction::bxor;
    if (dtype == DType::boolean) return is_bitwise;
    if (is_integer(dtype)) return reduction != Reduction::avg;
    if (is_complex(dtype)) return reduction == Reduction::sum || reduction == Reduction::avg;
    return !is_bitwise;
}

Tensor reduce(const PerRank& in, Reduction reduction) {
    require_equal_shapes(in);
    const DType dtype = in.front().dtype();
    if (!is_defined(reduction, dtype))
        throw ArgumentError(fmt::format("reduce: this reduction is not defined for {}", name(dtype)));
    if (dtype == DType::boolean || is_integer(dtype)) return fold<Bits>(in, reduction);
    if (component_type(dtype) == DType::f64) return fold<double>(in, reduction);
    return fold<float>(in, reduction);
}

PerRank all_reduce(const PerRank& in, Reduction reduction) {
    PerRank out;
    for (std::size_t i = 0; i < in.size(); ++i)
        out.push_back(reduce(in, reduction));
    return out;
}

PerRank reduce_scatter(const PerRank& in, Reduction reduction) {
    require_equal_shapes(in);
    return chunks(reduce(in, reduction), 0, in.size());
}

PerRank reduce_scatter(const PerRank& in, Reduction reduction, const std::vector<std::int64_t>& split) {
    require_equal_shapes(in);
    if (split.size() != in.size())
        throw ArgumentError(fmt::format("split: {} sizes for {} ranks", split.size(), in.size()));
    return pieces(reduce(in, reduction), 0, split);
}

std::vector<Dict> all_reduce_dict(const std::vector<Dict>& in, Reduction reduction, DType dtype) {
    if (!is_floating(dtype)) throw ArgumentError(fmt::format("dtype: {} is no real float", name(dtype)));
    if (in.empty()) throw ArgumentError("in: no ranks");
    std::vector<Dict> out = in;
    PerRank values;
    for (Dict& dict : out) {
        if (dict.size() != in.front().size())
            throw ArgumentError(
                fmt::format("in: dicts of {} and of {} entries", in.front().size(), dict.size()));
        std::sort(dict.begin(), dict.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        Tensor tensor = Tensor::empty({static_cast<std::int64_t>(dict.size())}, dtype);
        std::byte* element = tensor.bytes();
        for (const auto& [key, value] : dict) {
            if (dtype == DType::f64)
                store_real(dtype, element, value);
            else
                store_real(dtype, element, static_cast<float>(value));
            element += size_of(dtype);
        }
        values.push_back(tensor);
    }
    const Tensor reduced = reduce(values, reduction);
    for (Dict& dict : out)
        for (std::size_t k = 0; k < dict.size(); ++k)
            dict[k].second = load_real(dtype, reduced.bytes() + k * size_of(dtype));
    return out;
}

}  // namespace plumb::oracle::reference
