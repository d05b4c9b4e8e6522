#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <plumb/core/rank.h>
#include <plumb/tensor/tensor.h>

/// The serial reference: what every rank of one group must get, computed in one process from the formulas
/// alone. It shares no code with the operations it judges, does no communication and aims at being obviously
/// right, not fast. `in[i]` is the host tensor of position i of the group, n = in.size() >= 1; any strides;
/// inputs are never changed. Results are fresh, contiguous host tensors, one per position unless said
/// otherwise. Every function throws ArgumentError for a call that the operation refuses.
namespace plumb::oracle::reference {

using PerRank = std::vector<Tensor>;

/// The reduction operators, by the reference's own account.
enum class Reduction : std::uint8_t { sum, product, min, max, avg, band, bor, bxor };
/// "SUM", … Throws ArgumentError for others.
[[nodiscard]] Reduction reduction_from_name(const std::string& name);
/// Integers: all but AVG. Floats: SUM, PRODUCT, MIN, MAX, AVG. Complex: SUM, AVG. Bool: BAND, BOR, BXOR.
[[nodiscard]] bool is_defined(Reduction reduction, DType dtype);

enum class Form : std::uint8_t { concat, stack };
/// Whose input a sequence region op takes: position 0's (rank0_only = true) or the rank's own.
enum class Source : std::uint8_t { rank0, own };

// --- collectives ---

/// out[i] = list[i], `list` being what the source rank passed.
[[nodiscard]] PerRank scatter(const std::vector<Tensor>& list);
/// What the destination rank gets: element k is position k's input.
[[nodiscard]] std::vector<Tensor> gather(const PerRank& in);
[[nodiscard]] PerRank broadcast(const PerRank& in, GroupRank src);
/// concat: joined along dim 0 (scalars give [n]); stack: [n, ...].
[[nodiscard]] PerRank all_gather(const PerRank& in, Form form);

/// In rank order from position 0's element; f16, bf16 and 8-bit floats in f32, rounded once; integers wrap;
/// MIN and MAX give NaN if any element is NaN and order -0 below +0; AVG divides the sum by n before it is
/// rounded.
[[nodiscard]] PerRank all_reduce(const PerRank& in, Reduction reduction);
/// What the destination rank gets.
[[nodiscard]] Tensor reduce(const PerRank& in, Reduction reduction);
/// out[i] = rows of the reduced tensor along dim 0: n equal parts, or `split[i]` rows (sum = extent of dim
/// 0).
[[nodiscard]] PerRank reduce_scatter(const PerRank& in, Reduction reduction);
[[nodiscard]] PerRank reduce_scatter(const PerRank& in, Reduction reduction,
                                     const std::vector<std::int64_t>& split);

/// Along dim 0, n equal parts: part j of position i's input becomes part i of position j's output.
[[nodiscard]] PerRank all_to_all_single(const PerRank& in);
/// `input_split[i][j]` rows go from i to j; `output_split[j][i]` must be the same number.
[[nodiscard]] PerRank all_to_all_single(const PerRank& in,
                                        const std::vector<std::vector<std::int64_t>>& input_split,
                                        const std::vector<std::vector<std::int64_t>>& output_split);

/// Entries of one rank's dict, in any order.
using Dict = std::vector<std::pair<std::string, double>>;
/// Each rank's keys are sorted by code point, the values converted to `dtype` (f16 … f64 only), reduced by
/// position and returned as doubles under the rank's own sorted keys. Names are not compared between ranks.
[[nodiscard]] std::vector<Dict> all_reduce_dict(const std::vector<Dict>& in, Reduction reduction,
                                                DType dtype);

// --- differentiable operations ---

/// Chunk j along scatter_dim of position i's input goes to position j, which joins what it gets along
/// gather_dim in rank order. Dims are not negative and differ; n = 1 is the identity. The adjoint swaps the
/// dims.
[[nodiscard]] PerRank all_to_all(const PerRank& in, std::int64_t gather_dim, std::int64_t scatter_dim);
[[nodiscard]] PerRank all_to_all_backward(const PerRank& grad_out, std::int64_t gather_dim,
                                          std::int64_t scatter_dim);

/// out[i] = chunk i along `dim` of position 0's or the own input. With Source::rank0 the others' inputs are
/// not looked at and may be undefined. n = 1 is the identity. Backward (replica_mean): all gradients joined
/// along `dim`, divided by n, on every rank.
[[nodiscard]] PerRank scatter_to_sequence_parallel_region(const PerRank& in, Source source,
                                                          std::int64_t dim = 1);
[[nodiscard]] PerRank scatter_to_sequence_parallel_region_backward(const PerRank& grad_out,
                                                                   std::int64_t dim = 1);
/// out = all inputs joined along `dim`, for both sources; extents along `dim` may differ. n = 1 is the
/// identity. Backward (replica_mean): chunk i (as long as position i's input was: `extents`, empty for n
/// equal parts) of position 0's or the own gradient, times n.
[[nodiscard]] PerRank gather_from_sequence_parallel_region(const PerRank& in, std::int64_t dim = 1);
[[nodiscard]] PerRank gather_from_sequence_parallel_region_backward(
    const PerRank& grad_out, Source source, std::int64_t dim = 1,
    const std::vector<std::int64_t>& extents = {});

/// out = [last `left` slices of the previous position | x | first `right` slices of the next], zeros beyond
/// the ends; `dim` may be negative; extents along it may differ but must be >= both widths. left = right = 0
/// is the identity. Backward: the own middle part, then the next rank's left-halo gradient added to the last
/// `left` slices, then the previous rank's right-halo gradient to the first `right`, each addition rounded to
/// the dtype; the end ranks add zeros.
[[nodiscard]] PerRank cp_halo_exchange(const PerRank& in, std::int64_t left, std::int64_t right,
                                       std::int64_t dim);
[[nodiscard]] PerRank cp_halo_exchange_backward(const PerRank& grad_out, std::int64_t left,
                                                std::int64_t right, std::int64_t dim);

}  // namespace plumb::oracle::reference
