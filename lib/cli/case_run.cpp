#include "cli/case_run.h"

#include <algorithm>
#include <deque>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>

namespace plumb::cli {

namespace {

using oracle::Role;

std::string role_name(Role role, int k) {
    const std::string key = oracle::tensor_key(GlobalRank(0), role, k);
    return key.substr(key.find('_') + 1);
}

/// A rank's run of one subject.
class Run {
  public:
    Run(const Subject& subject, RankOutcome& outcome)
        : subject_(subject),
          outcome_(outcome),
          driver_(subject.driver),
          rank_(subject.group.global_rank(subject.group.rank())) {}

    bool forward(Target target);
    bool backward(Target target);
    /// Of the last forward call's result.
    [[nodiscard]] std::uint64_t digest() const { return digest_; }

    /// The agreed error of the call, or none.
    std::string error_of_forward(Target target, Values& result);
    std::string error_of_backward(Target target, const Tensor& grad_output);

  private:
    [[nodiscard]] bool has(Role role, int k = oracle::kNoIndex) const {
        return subject_.item.tensors.count(oracle::tensor_key(rank_, role, k)) != 0;
    }
    [[nodiscard]] Call call(Target target) {
        return {
            subject_.item,
            subject_.group_index,
            subject_.group,
            subject_.timing,
            target,
            [this](const Shape& shape, DType dtype) {
                return outputs_.emplace_back(Placed::blank(shape, dtype, subject_.output_layout)).tensor();
            }};
    }
    Values place_inputs();
    template <class Action>
    bool attempt(const char* what, Action&& action);
    void check_memory(bool writes_input);
    void check_values(const Values& result);
    void check_tensor(Role role, int k, const Tensor& got, const oracle::Rule& rule);
    [[nodiscard]] std::uint64_t in_units_of_case(std::uint64_t ulp) const;

    const Subject& subject_;
    RankOutcome& outcome_;
    const Driver& driver_;
    GlobalRank rank_;
    std::deque<std::pair<std::string, Placed>> inputs_;
    std::deque<Placed> outputs_;
    std::uint64_t digest_ = 0;
};

Values Run::place_inputs() {
    Values values;
    const auto place = [&](Role role, int k) {
        return inputs_
            .emplace_back(role_name(role, k),
                          Placed::holding(subject_.tensor(role, k), subject_.input_layout))
            .second.tensor();
    };
    inputs_.clear();
    outputs_.clear();
    if (has(Role::in)) values.tensor = place(Role::in, oracle::kNoIndex);
    for (int k = 0; has(Role::in, k); ++k)
        values.list.push_back(place(Role::in, k));
    return values;
}

template <class Action>
bool Run::attempt(const char* what, Action&& action) {
    try {
        action();
        return true;
    } catch (const TimeoutError& error) {
        outcome_.timed_out = true;
        outcome_.wrong(rank_, "", fmt::format("{}: {}", what, error.what()));
    } catch (const std::bad_alloc&) {
        outcome_.wrong(rank_, "", fmt::format("{}: out of memory", what));
    } catch (const std::exception& error) {
        outcome_.wrong(rank_, "", fmt::format("{}: {}", what, error.what()));
    }
    return false;
}

void Run::check_memory(bool writes_input) {
    for (const auto& [role, placed] : inputs_) {
        if (!writes_input && !placed.unchanged())
            outcome_.wrong(rank_, role, "was changed by the call");
        else if (!placed.outside_unchanged())
            outcome_.wrong(rank_, role, "the memory between its elements was written to");
    }
    for (const Placed& placed : outputs_)
        if (!placed.outside_unchanged())
            outcome_.wrong(rank_, "out", "the memory between its elements was written to");
}

void Run::check_tensor(Role role, int k, const Tensor& got, const oracle::Rule& rule) {
    const std::string role_text = role_name(role, k);
    if (!got.defined()) return outcome_.wrong(rank_, role_text, "the call returned no tensor");
    for (const auto& [input, placed] : inputs_)
        if (got.shares_storage_with(placed.tensor()) && (driver_.in_place == nullptr))
            outcome_.wrong(rank_, role_text, fmt::format("shares memory with {}", input));
    const oracle::Comparison result = oracle::compare(subject_.tensor(role, k), got, rule);
    outcome_.max_ulp = std::max(outcome_.max_ulp, in_units_of_case(result.max_ulp));
    if (result.ok()) return;
    if (result.verdict != oracle::Verdict::different)
        return outcome_.wrong(rank_, role_text,
                              fmt::format("{}: expected {}, got {}",
                                          result.verdict == oracle::Verdict::wrong_shape ? "shape" : "dtype",
                                          result.expected, result.got));
    outcome_.findings.push_back({rank_.value, role_text, result.index, result.expected, result.got,
                                 result.ulp, result.wrong, result.elements, ""});
}

/// The values of a dict are reduced in the dtype of the case but compared as F64.
std::uint64_t Run::in_units_of_case(std::uint64_t ulp) const {
    if (subject_.item.op != "all_reduce_dict" || ulp == oracle::kNoUlp) return ulp;
    switch (subject_.item.dtype) {
        case DType::f32:
            return ulp >> 29U;
        case DType::f16:
            return ulp >> 42U;
        case DType::bf16:
            return ulp >> 45U;
        default:
            return ulp;
    }
}

void Run::check_values(const Values& result) {
    const auto& out_keys = subject_.item.out_keys;
    if (!out_keys.empty()) {
        const auto& expected = out_keys[static_cast<std::size_t>(rank_.value)];
        if (expected != result.keys)
            outcome_.wrong(rank_, "out",
                           fmt::format("keys: expected [{}], got [{}]", fmt::join(expected, ", "),
                                       fmt::join(result.keys, ", ")));
    }
    const bool unknown = subject_.item.expected == oracle::Expected::unknown;
    if (has(Role::out)) {
        check_tensor(Role::out, oracle::kNoIndex, result.tensor, subject_.rule_for_out());
    } else if (result.tensor.defined() && !unknown) {
        outcome_.wrong(rank_, "out", "the call returned a tensor where there is none");
    }
    int expected = 0;
    for (; has(Role::out, expected); ++expected)
        if (static_cast<std::size_t>(expected) < result.list.size())
            check_tensor(Role::out, expected, result.list[static_cast<std::size_t>(expected)], {});
    if (static_cast<std::size_t>(expected) != result.list.size() && !unknown)
        outcome_.wrong(
            rank_, "out",
            fmt::format("the call returned a list of {}, expected {}", result.list.size(), expected));
}

bool Run::forward(Target target) {
    return attempt("forward", [&] {
        const Values input = place_inputs();
        const Call made = call(target);
        const Values result = driver_.forward(made, input);
        if (result.tensor.defined()) digest_ = digest_of(result.tensor);
        if (target == Target::given && result.tensor.defined() &&
            std::none_of(outputs_.begin(), outputs_.end(), [&](const Placed& placed) {
                return placed.tensor().shares_storage_with(result.tensor);
            }))
            outcome_.wrong(rank_, "out", "is not the output given");
        const bool writes = driver_.in_place != nullptr && driver_.in_place(made);
        if (writes && result.tensor.defined() && !result.tensor.shares_storage_with(input.tensor))
            outcome_.wrong(rank_, "out", "is not the tensor given, which the operation works on in place");
        check_memory(writes);
        check_values(result);
    });
}

bool Run::backward(Target target) {
    return attempt("backward", [&] {
        inputs_.clear();
        outputs_.clear();
        const Tensor grad_output =
            inputs_
                .emplace_back("gradout", Placed::holding(subject_.tensor(Role::grad_out, oracle::kNoIndex),
                                                         subject_.input_layout))
                .second.tensor();
        const Tensor result = driver_.backward(call(target), grad_output);
        check_memory(false);
        if (has(Role::grad_in)) check_tensor(Role::grad_in, oracle::kNoIndex, result, {});
    });
}

std::string Run::error_of_forward(Target target, Values& result) {
    std::string agreed;
    attempt("forward", [&] {
        const Values input = place_inputs();
        try {
            result = driver_.forward(call(target), input);
        } catch (const AgreementError& error) {
            agreed = error.what();
            check_memory(false);
        }
    });
    return agreed;
}

std::string Run::error_of_backward(Target target, const Tensor& grad_output) {
    std::string agreed;
    attempt("backward", [&] {
        try {
            static_cast<void>(driver_.backward(call(target), grad_output));
        } catch (const AgreementError& error) {
            agreed = error.what();
        }
    });
    return agreed;
}

}  // namespace

void RankOutcome::wrong(GlobalRank rank, std::string role, std::string message) {
    Finding finding;
    finding.rank = rank.value;
    finding.role = std::move(role);
    finding.message = std::move(message);
    findings.push_back(std::move(finding));
}

RankOutcome run_values(const Subject& subject, const GoOn& go_on) {
    RankOutcome outcome;
    Run run(subject, outcome);
    for (const Target target : subject.targets) {
        const bool through = run.forward(target);
        if (!go_on(through, run.digest())) return outcome;
    }
    const GlobalRank rank = subject.group.global_rank(subject.group.rank());
    if (subject.item.tensors.count(oracle::tensor_key(rank, Role::grad_out)) == 0) return outcome;
    for (const Target target : subject.targets) {
        const bool through = run.backward(target);
        if (!go_on(through, 0)) return outcome;
    }
    return outcome;
}

RankOutcome run_for_error(const Subject& subject, bool backward, std::string& error) {
    RankOutcome outcome;
    Run run(subject, outcome);
    const Driver& driver = subject.driver;
    Values result;
    const auto& params = subject.item.params;
    const Target target = params.out_shape || params.out_dtype ? Target::given : driver.targets.front();
    error = run.error_of_forward(target, result);
    if (error.empty() && outcome.findings.empty() && backward && driver.backward != nullptr)
        error = run.error_of_backward(target, result.tensor);
    return outcome;
}

std::uint64_t digest_of(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
    for (const char byte : bytes)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    return hash == 0 ? 1 : hash;
}

std::uint64_t digest_of(const Tensor& tensor) {
    const Tensor dense = tensor.contiguous();
    return digest_of(std::string_view(reinterpret_cast<const char*>(dense.bytes()), dense.view().bytes()));
}

}  // namespace plumb::cli
