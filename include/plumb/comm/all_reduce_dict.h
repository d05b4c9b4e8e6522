#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <plumb/comm/async.h>
#include <plumb/comm/reduce_op.h>
#include <plumb/context/comm_context.h>

namespace plumb {

/// Named numbers (losses, counters, …), in the byte order of their UTF-8 keys, which is the order of code
/// points.
using Dict = std::map<std::string, double>;

/// What must match between the ranks' keys. `strict`: all names. `by_position`: only their number; the k-th
/// keys of all ranks, in sorted order, are reduced together, whatever they are called.
enum class KeyMatch : std::uint8_t { strict, by_position };
/// "strict", "by_position".
[[nodiscard]] std::string_view name(KeyMatch match);
/// Throws ArgumentError that lists what is allowed.
[[nodiscard]] KeyMatch key_match_from_name(std::string_view text);

/// Every rank gets the reduction of all ranks' values, key by key, in rank order (see ReduceOp), under its
/// own keys. The values are converted to `dtype`, reduced in it, and returned as doubles. Collective over the
/// group; `values` is not changed; an empty dict is legal. A rank outside the group gets an empty dict.
///
/// Conversion to a floating dtype rounds to nearest, once; what lies beyond its range becomes infinity (NaN
/// in float8_e4m3fn, which has none). To an integer dtype a value is truncated toward zero. To bool,
/// everything but 0 is true. Results of int64 beyond 2^53 are rounded to double.
///
/// Throws AgreementError: differing keys (named, with the ranks that give them; at most a handful) unless
/// `by_position`; differing numbers of keys; a value that an integer dtype cannot represent (named, with the
/// range); a complex dtype, an operator that is not defined for the dtype; operator, dtype or key match that
/// differ between ranks.
Dict all_reduce_dict(const Dict& values, GroupRef group, ReduceOp op = ReduceOp::sum,
                     DType dtype = DType::f32, KeyMatch match = KeyMatch::strict);
Async<Dict> all_reduce_dict_async(const Dict& values, GroupRef group, ReduceOp op = ReduceOp::sum,
                                  DType dtype = DType::f32, KeyMatch match = KeyMatch::strict);

}  // namespace plumb
