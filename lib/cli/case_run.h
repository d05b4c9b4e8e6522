#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <plumb/oracle/compare.h>

#include "cli/call.h"
#include "cli/placed.h"
#include "cli/report.h"

namespace plumb::cli {

/// What one rank found out about a case.
struct RankOutcome {
    std::vector<Finding> findings;
    std::uint64_t max_ulp = 0;
    bool timed_out = false;

    void wrong(GlobalRank rank, std::string role, std::string message);
};

/// One rank's part of a case: its inputs, what it must get, and how the call is made.
struct Subject {
    const oracle::Case& item;
    const Driver& driver;  ///< of the case's operation
    std::size_t group_index;
    const Group& group;
    /// An input (roles in and grad_out) or an expected result (out and grad_in) of this rank.
    std::function<Tensor(oracle::Role, int k)> tensor;
    std::function<oracle::Rule()> rule_for_out;
    Layout input_layout = Layout::contiguous;
    Layout output_layout = Layout::contiguous;
    Timing timing = Timing::blocking;
    std::vector<Target> targets;  ///< the call is made with each
};

/// Between the steps of a case: whether all ranks can go on, given that this one can. `digest` is of this
/// rank's result, for the operations whose results must be the same on all ranks of a group.
using GoOn = std::function<bool(bool mine, std::uint64_t digest)>;

/// Makes the calls, forward and, where the case lists gradients, backward, and compares. Collective over the
/// group. Throws nothing that the operations throw: that is a finding.
[[nodiscard]] RankOutcome run_values(const Subject& subject, const GoOn& go_on);

/// Makes the forward call of an error case, whose inputs may be absent; then, if it went through and
/// `backward`, the backward call. Puts the text of the agreed error in `error`, or leaves it empty where the
/// call completed. Anything else thrown is a finding.
[[nodiscard]] RankOutcome run_for_error(const Subject& subject, bool backward, std::string& error);

/// Of the elements in row-major order, for comparing ranks bit for bit; never 0.
[[nodiscard]] std::uint64_t digest_of(const Tensor& tensor);
[[nodiscard]] std::uint64_t digest_of(std::string_view bytes);

}  // namespace plumb::cli
