#include "cli/replay_case.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include <plumb/context/settings.h>
#include <plumb/core/error.h>

namespace plumb::cli {

namespace {

using oracle::Case;
using oracle::Expected;
using oracle::Role;

/// Operations after which all ranks of a group hold the same bits, whatever rule the values are judged by.
bool is_same_everywhere(const Case& item) {
    return item.op == "all_reduce" || item.op == "all_reduce_dict";
}

bool must_report(const Case& item, std::size_t group) {
    return std::any_of(item.groups[group].begin(), item.groups[group].end(), [&](GlobalRank rank) {
        return std::find(item.error.ranks.begin(), item.error.ranks.end(), rank) != item.error.ranks.end();
    });
}

}  // namespace

std::vector<ReplayCase::Step> ReplayCase::exchange(const Step& mine) {
    const std::array<std::uint64_t, 3> words = {mine.ok ? 1U : 0U, mine.timed_out ? 1U : 0U, mine.digest};
    const std::vector<std::uint64_t> all = job_.all_gather(words);
    std::vector<Step> steps;
    for (std::size_t r = 0; r < all.size(); r += words.size()) {
        steps.push_back({all[r] != 0, all[r + 1] != 0, all[r + 2]});
        hung_ = hung_ || steps.back().timed_out;
    }
    return steps;
}

void ReplayCase::load(const Case& item) {
    tensors_.clear();
    rule_ = {};
    const GlobalRank rank(job_.rank());
    for (const auto& [key, entry] : item.tensors)
        if (entry.rank == rank) tensors_.emplace(key, set_.tensor(item, rank, entry.role, entry.k));
    if (item.expected == Expected::values && tensors_.count(oracle::tensor_key(rank, Role::out)) != 0)
        rule_ = oracle::rule_for_out(set_, item, rank);
}

Subject ReplayCase::subject(const Case& item, const Group& group, std::size_t index) const {
    const GlobalRank rank(job_.rank());
    const Driver& driver = *find_driver(item.op);
    Subject subject{item,
                    driver,
                    index,
                    group,
                    [this, rank](Role role, int k) { return tensors_.at(oracle::tensor_key(rank, role, k)); },
                    [this] { return rule_; },
                    item.params.layout ? Layout::transposed : Layout::contiguous,
                    Layout::contiguous,
                    item.params.async_op.value_or(false) ? Timing::async : Timing::blocking,
                    driver.targets};
    return subject;
}

void ReplayCase::run_values_case(const Case& item, const Group& group, CaseResult& result,
                                 RankOutcome& outcome) {
    const auto go_on = [&](bool mine, std::uint64_t digest) {
        const std::vector<Step> steps = exchange({mine, outcome.timed_out, digest});
        if (!is_same_everywhere(item) || digest == 0) digest = 0;
        for (const auto& ranks : item.groups)
            for (const GlobalRank rank : ranks) {
                const auto& step = steps[static_cast<std::size_t>(rank.value)];
                const auto& first = steps[static_cast<std::size_t>(ranks.front().value)];
                if (is_same_everywhere(item) && step.ok && first.ok && step.digest != first.digest &&
                    result.reason.empty())
                    result.reason = fmt::format("the results of ranks {} and {} are not the same bits",
                                                ranks.front().value, rank.value);
            }
        return std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step.ok; });
    };
    const auto index = item.group_of(GlobalRank(job_.rank()));
    if (index && group.is_member()) {
        outcome = run_values(subject(item, group, *index), go_on);
        return;
    }
    // A rank that the case says nothing of keeps step with the others.
    const bool gradients = std::any_of(item.tensors.begin(), item.tensors.end(),
                                       [](const auto& entry) { return entry.second.role == Role::grad_out; });
    const std::size_t targets = find_driver(item.op)->targets.size();
    for (std::size_t step = 0; step < targets * (gradients ? 2 : 1); ++step)
        if (!go_on(true, 0)) return;
}

void ReplayCase::run_error_case(const Case& item, const Group& group, CaseResult& result,
                                RankOutcome& outcome) {
    const GlobalRank rank(job_.rank());
    const auto index = item.group_of(rank);
    std::string error;
    if (index && group.is_member()) {
        const bool backward = item.error.phase == "backward";
        outcome = run_for_error(subject(item, group, *index), backward, error);
        if (must_report(item, *index) && error.empty() && outcome.findings.empty())
            outcome.wrong(rank, "",
                          fmt::format("the call went through, expected an error: {}", item.error.reason));
        if (!must_report(item, *index) && !error.empty())
            outcome.wrong(rank, "",
                          fmt::format("this group's call is right, expected it to complete, got: {}", error));
    }
    const std::vector<Step> steps =
        exchange({outcome.findings.empty(), outcome.timed_out, error.empty() ? 0 : digest_of(error)});
    for (const auto& ranks : item.groups)
        for (const GlobalRank other : ranks)
            if (steps[static_cast<std::size_t>(other.value)].digest !=
                    steps[static_cast<std::size_t>(ranks.front().value)].digest &&
                result.reason.empty())
                result.reason = fmt::format("ranks {} and {} of a group did not get the same error",
                                            ranks.front().value, other.value);
}

void ReplayCase::collect(const RankOutcome& outcome, CaseResult& result) {
    const std::array<std::uint64_t, 2> words = {outcome.findings.empty() ? 1U : 0U, outcome.max_ulp};
    const std::vector<std::uint64_t> all = job_.all_gather(words);
    bool good = true;
    for (std::size_t r = 0; r < all.size(); r += words.size()) {
        good = good && all[r] != 0;
        result.max_ulp = std::max(result.max_ulp, all[r + 1]);
    }
    if (!good)
        for (const std::string& text : job_.all_gather(to_text(outcome.findings)))
            for (const Finding& finding : findings_from_text(text))
                result.findings.push_back(finding);
    if (!good || !result.reason.empty()) result.status = Status::failed;
}

CaseResult ReplayCase::run(const Case& item) {
    const auto start = std::chrono::steady_clock::now();
    CaseResult result;
    result.id = item.id;
    result.op = item.op;
    const auto fail = [&](const std::string& reason) {
        result.status = Status::failed;
        result.reason = reason;
        return result;
    };
    if (!item.problem.empty()) return fail(item.problem);
    if (find_driver(item.op) == nullptr) return fail("not supported by this version: op " + item.op);
    if (const auto missing = unsupported(item)) return fail(*missing);

    if (item.expected == Expected::error && Settings::from_environment().check_level != CheckLevel::agree) {
        result.status = Status::skipped;
        result.reason = "only with PLUMB_CHECK=agree is an error everybody's";
        return result;
    }

    RankOutcome outcome;
    const Group* group = nullptr;
    try {
        group = &groups_.of(item);
    } catch (const AgreementError& error) {
        return fail(error.what());
    }
    try {
        load(item);
    } catch (const std::exception& error) {
        outcome.wrong(GlobalRank(job_.rank()), "", error.what());
    }
    if (job_.all(outcome.findings.empty())) {
        if (item.expected == Expected::error)
            run_error_case(item, *group, result, outcome);
        else
            run_values_case(item, *group, result, outcome);
    }
    collect(outcome, result);
    if (item.expected == Expected::unknown && result.status == Status::passed) {
        result.status = Status::skipped;
        result.reason = "the case says nothing about the results";
    }
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace plumb::cli
