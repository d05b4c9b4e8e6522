#pragma once

#include <cstdint>
#include <string_view>

#include <plumb/tensor/dtype.h>

namespace plumb {

/// How a reduction combines the ranks' elements. All reductions of Plumb are ordered: they start from the
/// first rank's element and go on in the group's rank order, so the same inputs give the same bits on every
/// rank and from run to run.
///
///   sum, product   f16, bf16 and 8-bit floats are accumulated in f32 and rounded once, at the end; f32 in
///                  f32, f64 in f64, complex per component; integers wrap.
///   avg            the sum in the accumulator, divided by the number of ranks, then rounded once.
///   min, max       NaN if any rank has NaN; -0 counts as less than +0.
///   band, bor, bxor  bitwise; for bool logical: the results are 0 and 1.
///
/// A NaN result is always the same quiet, positive one (0x7F in the 8-bit floats). A group of one rank obeys
/// the same rules.
enum class ReduceOp : std::uint8_t { sum, product, min, max, avg, band, bor, bxor };

inline constexpr ReduceOp kAllReduceOps[] = {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max,
                                             ReduceOp::avg, ReduceOp::band,    ReduceOp::bor, ReduceOp::bxor};

/// "SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR".
[[nodiscard]] std::string_view name(ReduceOp op);
/// Accepts upper and lower case. Throws ArgumentError that lists what is allowed.
[[nodiscard]] ReduceOp reduce_op_from_name(std::string_view text);

/// Integers: all but avg. Floats: sum, product, min, max, avg. Complex: sum, avg. Bool: band, bor, bxor.
/// A reduction whose operator is not defined for the dtype is an agreed error.
[[nodiscard]] constexpr bool is_defined_for(ReduceOp op, DType dtype) {
    const bool bitwise = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
    if (dtype == DType::boolean) return bitwise;
    if (is_integer(dtype)) return op != ReduceOp::avg;
    if (is_complex(dtype)) return op == ReduceOp::sum || op == ReduceOp::avg;
    return !bitwise;
}

}  // namespace plumb
