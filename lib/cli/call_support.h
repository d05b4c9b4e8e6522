#pragma once

#include <algorithm>
#include <limits>

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>

#include "cli/call.h"

namespace plumb::cli {

/// Calls the blocking or the async form, as the call says.
template <class Blocking, class Asynchronous>
auto perform(const Call& call, Blocking&& blocking, Asynchronous&& asynchronous) {
    return call.timing == Timing::async ? asynchronous().wait() : blocking();
}

[[nodiscard]] inline Root root(const Call& call, const std::optional<std::vector<GlobalRank>>& roots) {
    return roots->at(call.group_index);
}

/// What does not fit an int is out of every range, as what it becomes is.
[[nodiscard]] inline int to_int(std::int64_t value) {
    return static_cast<int>(
        std::clamp<std::int64_t>(value, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

/// The tensor that a call writes to: as the case's faulty call has it, else as its result is recorded, else
/// of the shape given.
[[nodiscard]] inline Tensor make_output(const Call& call, oracle::Role role, const Shape& fallback) {
    const auto& params = call.item.params;
    const auto entry = call.item.tensors.find(oracle::tensor_key(call.rank(), role));
    const Shape shape = params.out_shape                   ? *params.out_shape
                        : entry != call.item.tensors.end() ? entry->second.shape
                                                           : fallback;
    return call.make(shape, params.out_dtype.value_or(call.item.dtype));
}

/// Calls an operation that makes its output or, as the call says, fills the one given: `blocking(out…)` and
/// `asynchronous(out…)` take no tensor or one.
template <class Blocking, class Asynchronous>
Tensor make_or_fill(const Call& call, oracle::Role role, const Shape& fallback, Blocking&& blocking,
                    Asynchronous&& asynchronous) {
    if (call.target == Target::fresh)
        return call.timing == Timing::async ? asynchronous().wait() : blocking();
    const Tensor out = make_output(call, role, fallback);
    return call.timing == Timing::async ? asynchronous(out).wait() : blocking(out);
}

// The operations, by file.
[[nodiscard]] std::vector<Driver> collective_drivers();
[[nodiscard]] std::vector<Driver> reduction_drivers();
[[nodiscard]] std::vector<Driver> differentiable_drivers();

}  // namespace plumb::cli
