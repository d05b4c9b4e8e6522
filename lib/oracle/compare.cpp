#include <plumb/oracle/compare.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <plumb/core/error.h>

#include "oracle/elements.h"

namespace plumb::oracle {

namespace {

/// The bits of one component, unsigned.
std::uint64_t bits_of(DType part, const std::byte* element) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, element, size_of(part));  // little endian
    return bits;
}

bool is_nan(DType part, const std::byte* element) {
    return is_floating(part) && std::isnan(load_real(part, element));
}

/// Floats numbered by value: +0 is 0, -0 is -1.
std::int64_t order_of(DType part, const std::byte* element) {
    const std::size_t width = size_of(part) * 8;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    const std::uint64_t bits = bits_of(part, element);
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -1 - magnitude : magnitude;
}

std::uint64_t part_distance(DType part, const std::byte* a, const std::byte* b) {
    if (is_nan(part, a) || is_nan(part, b)) return is_nan(part, a) && is_nan(part, b) ? 0 : kNoUlp;
    const std::int64_t x = is_floating(part) ? order_of(part, a) : load_integer(part, a);
    const std::int64_t y = is_floating(part) ? order_of(part, b) : load_integer(part, b);
    return x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                 : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x);
}

bool equal_exactly(DType part, const std::byte* a, const std::byte* b) {
    return bits_of(part, a) == bits_of(part, b) || (is_nan(part, a) && is_nan(part, b));
}

std::string part_text(DType part, const std::byte* element) {
    if (part == DType::boolean) return load_integer(part, element) != 0 ? "true" : "false";
    if (!is_floating(part)) return fmt::format("{}", load_integer(part, element));
    const double value = load_real(part, element);
    return part == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

/// Sum or product of the absolute values of one component over all ranks' inputs.
long double magnitude_at(const Rule& rule, const Index& index, std::size_t part) {
    long double m = rule.magnitude == Rule::Magnitude::sum ? 0.0L : 1.0L;
    for (const Tensor& input : rule.inputs) {
        const DType type = component_type(input.dtype());
        const auto size = std::fabs(
            static_cast<long double>(load_real(type, element_at(input, index) + part * size_of(type))));
        m = rule.magnitude == Rule::Magnitude::sum ? m + size : m * size;
    }
    return m;
}

bool equal_within(const Rule& rule, DType part_type, const Index& index, std::size_t part, const std::byte* a,
                  const std::byte* b) {
    if (equal_exactly(part_type, a, b)) return true;
    const double x = load_real(part_type, a);
    const double y = load_real(part_type, b);
    const long double m = magnitude_at(rule, index, part);
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(m)) return false;
    const auto n = static_cast<long double>(rule.inputs.size());
    return std::fabs(static_cast<long double>(x) - static_cast<long double>(y)) <=
           n * static_cast<long double>(epsilon(rule.dtype)) * m;
}

void require_usable(const Rule& rule, const Tensor& expected) {
    if (rule.kind == CompareKind::exact) return;
    const auto is_real_kind = [](DType dtype) { return is_floating(dtype) || is_complex(dtype); };
    if (!is_real_kind(rule.dtype) || !is_real_kind(expected.dtype()))
        throw ArgumentError(fmt::format("rule: rounding of {} and {}, floats are needed", name(rule.dtype),
                                        name(expected.dtype())));
    for (const Tensor& input : rule.inputs)
        if (input.shape() != expected.shape() || is_complex(input.dtype()) != is_complex(expected.dtype()))
            throw ArgumentError(fmt::format("rule: an input of {} {} for a result of {} {}",
                                            name(input.dtype()), to_string(input.shape()),
                                            name(expected.dtype()), to_string(expected.shape())));
}

bool elements_match(const Rule& rule, DType dtype, const Index& index, const std::byte* a,
                    const std::byte* b) {
    const DType part_type = component_type(dtype);
    for (std::size_t part = 0; part < components(dtype);
         ++part, a += size_of(part_type), b += size_of(part_type)) {
        const bool match = rule.kind == CompareKind::exact ? equal_exactly(part_type, a, b)
                                                           : equal_within(rule, part_type, index, part, a, b);
        if (!match) return false;
    }
    return true;
}

}  // namespace

std::uint64_t ulp_distance(DType dtype, const std::byte* a, const std::byte* b) {
    const DType part = component_type(dtype);
    std::uint64_t distance = part_distance(part, a, b);
    if (is_complex(dtype))
        distance = std::max(distance, part_distance(part, a + size_of(part), b + size_of(part)));
    return distance;
}

std::string element_text(DType dtype, const std::byte* element) {
    const DType part = component_type(dtype);
    const int digits = static_cast<int>(size_of(part) * 2);
    if (!is_complex(dtype))
        return fmt::format("{} (0x{:0{}x})", part_text(part, element), bits_of(part, element), digits);
    const std::byte* imaginary = element + size_of(part);
    return fmt::format("{} + {}i (0x{:0{}x}, 0x{:0{}x})", part_text(part, element),
                       part_text(part, imaginary), bits_of(part, element), digits, bits_of(part, imaginary),
                       digits);
}

double epsilon(DType dtype) {
    switch (component_type(dtype)) {
        case DType::f64:
            return 0x1p-52;
        case DType::f32:
            return 0x1p-23;
        case DType::f16:
            return 0x1p-10;
        case DType::bf16:
            return 0x1p-7;
        case DType::f8_e4m3fn:
            return 0x1p-3;
        case DType::f8_e5m2:
            return 0x1p-2;
        default:
            throw ArgumentError(fmt::format("dtype: {} has no eps", name(dtype)));
    }
}

Comparison compare(const Tensor& expected, const Tensor& actual, const Rule& rule) {
    if (!expected.defined() || !actual.defined()) throw ArgumentError("compare: an undefined tensor");
    Comparison result;
    if (expected.dtype() != actual.dtype()) {
        result.verdict = Verdict::wrong_dtype;
        result.expected = name(expected.dtype());
        result.got = name(actual.dtype());
        return result;
    }
    if (expected.shape() != actual.shape()) {
        result.verdict = Verdict::wrong_shape;
        result.expected = to_string(expected.shape());
        result.got = to_string(actual.shape());
        return result;
    }
    require_usable(rule, expected);
    const DType dtype = expected.dtype();
    for_each_index(expected.shape(), [&](const Index& index) {
        const std::byte* a = element_at(expected, index);
        const std::byte* b = element_at(actual, index);
        const std::uint64_t distance = ulp_distance(dtype, a, b);
        result.max_ulp = std::max(result.max_ulp, distance);
        const std::int64_t flat = result.elements++;
        if (elements_match(rule, dtype, index, a, b)) return;
        if (result.wrong++ > 0) return;
        result.verdict = Verdict::different;
        result.first = flat;
        result.index.assign(index.begin(), index.begin() + expected.ndim());
        result.expected = element_text(dtype, a);
        result.got = element_text(dtype, b);
        result.ulp = distance;
    });
    return result;
}

std::string Comparison::describe() const {
    switch (verdict) {
        case Verdict::equal:
            return {};
        case Verdict::wrong_dtype:
            return fmt::format("dtype {} expected, got {}", expected, got);
        case Verdict::wrong_shape:
            return fmt::format("shape {} expected, got {}", expected, got);
        case Verdict::different:
            break;
    }
    const std::string distance = ulp == kNoUlp ? "a NaN against a number" : fmt::format("{} ulp", ulp);
    return fmt::format("{} of {} wrong, first at [{}]: expected {}, got {}, {}", wrong, elements,
                       fmt::join(index, ", "), expected, got, distance);
}

}  // namespace plumb::oracle
