#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <plumb/oracle/case_set.h>
#include <plumb/tensor/tensor.h>

namespace plumb::oracle {

enum class Verdict : std::uint8_t { equal, different, wrong_shape, wrong_dtype };

/// Distance where there is none: between a NaN and a number.
inline constexpr std::uint64_t kNoUlp = std::numeric_limits<std::uint64_t>::max();

/// What a comparison found. Flat index and multi-index count elements row-major.
struct Comparison {
    Verdict verdict = Verdict::equal;
    std::int64_t elements = 0;
    std::int64_t wrong = 0;  ///< number of wrong elements
    std::int64_t first = -1;
    std::vector<std::int64_t> index;
    std::string
        expected;     ///< first wrong element: value that reads back to the same bits, and the bits in hex;
    std::string got;  ///< or the two shapes or dtypes
    std::uint64_t ulp = 0;      ///< of the first wrong element
    std::uint64_t max_ulp = 0;  ///< largest over all elements, right ones under a rounding rule included

    [[nodiscard]] bool ok() const noexcept { return verdict == Verdict::equal; }
    /// One line: "3 of 12 wrong, first at [0, 1]: expected …, got …, 1 ulp". Empty if ok.
    [[nodiscard]] std::string describe() const;
};

/// How close is close enough.
struct Rule {
    CompareKind kind = CompareKind::exact;
    // For rounding only: the inputs of all n ranks of the group, shaped like the result, the type reduced in,
    // and whether their absolute values are summed or multiplied.
    enum class Magnitude : std::uint8_t { sum, product } magnitude = Magnitude::sum;
    DType dtype = DType::f32;
    std::vector<Tensor> inputs;
};

/// Exact: bit for bit, any NaN matching any NaN (per component of complex numbers); -0 is not +0.
/// Rounding: |expected - actual| <= n * eps * m elementwise, n = number of inputs, m = sum (product) of their
/// absolute values, eps = distance from 1 to the next larger number of `rule.dtype`; for complex numbers
/// (sums only) each component by itself. Where one of the two is not finite, or m is not, the exact rule
/// holds. Host tensors, any strides. Throws ArgumentError for a rounding rule whose inputs do not have the
/// shape of the result or whose dtype is no float.
[[nodiscard]] Comparison compare(const Tensor& expected, const Tensor& actual, const Rule& rule = {});

/// Distance of two elements in units in the last place: floats are numbered in the order of their values (-0
/// directly below +0), complex numbers take the larger of their components' distances, integers and bool
/// differ by their difference. Two NaNs: 0; one NaN: kNoUlp.
[[nodiscard]] std::uint64_t ulp_distance(DType dtype, const std::byte* a, const std::byte* b);

/// "1.5 (0x3fc00000)": digits that read back to the same value, and the bits.
[[nodiscard]] std::string element_text(DType dtype, const std::byte* element);

/// Eps of a float or complex type. Throws ArgumentError for others.
[[nodiscard]] double epsilon(DType dtype);

/// The rule by which the `out` tensor of `rank` in a values case is judged: exact, or rounding with the
/// inputs of the rank's group in place (for all_reduce_dict: sorted by key and converted to the case's dtype;
/// for reduce_scatter: the rank's part). Gradients are always judged exactly, by `Rule{}`.
[[nodiscard]] Rule rule_for_out(const CaseSet& set, const Case& item, GlobalRank rank);

}  // namespace plumb::oracle
