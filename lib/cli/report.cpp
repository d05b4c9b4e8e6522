#include "cli/report.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/errors.h"

namespace plumb::cli {

namespace {

constexpr std::uint64_t kNoUlp = std::numeric_limits<std::uint64_t>::max();

std::string ulp_text(std::uint64_t ulp) {
    return ulp == kNoUlp ? "NaN" : fmt::format("{}", ulp);
}

}  // namespace

const char* name(Status status) {
    switch (status) {
        case Status::passed:
            return "passed";
        case Status::failed:
            return "failed";
        case Status::skipped:
            return "skipped";
    }
    return "?";
}

std::string describe(const Finding& finding) {
    std::string text = fmt::format("rank {}", finding.rank);
    if (!finding.role.empty()) text += fmt::format(", rank{}_{}", finding.rank, finding.role);
    if (!finding.message.empty()) return text + ": " + finding.message;
    text += fmt::format(" [{}]: expected {}, got {}", fmt::join(finding.index, ", "), finding.expected,
                        finding.got);
    if (finding.ulp) text += *finding.ulp == kNoUlp ? ", one is NaN" : fmt::format(", {} ulp", *finding.ulp);
    return text + fmt::format(" ({} of {} wrong)", finding.wrong, finding.elements);
}

std::string describe(const CaseResult& result) {
    std::string text = result.reason;
    if (!result.findings.empty()) {
        text += (text.empty() ? "" : "; ") + describe(result.findings.front());
        std::set<int> ranks;
        for (const Finding& finding : result.findings)
            ranks.insert(finding.rank);
        if (ranks.size() > 1) text += fmt::format("; wrong on ranks {}", fmt::join(ranks, ", "));
    }
    if (!result.rerun.empty() && result.status == Status::failed) text += "; again: " + result.rerun;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

void Totals::add(const CaseResult& result) {
    switch (result.status) {
        case Status::passed:
            ++passed;
            break;
        case Status::failed:
            ++failed;
            break;
        case Status::skipped:
            ++skipped;
            break;
    }
    max_ulp = std::max(max_ulp, result.max_ulp);
    seconds += result.seconds;
}

Totals Report::totals() const {
    Totals sum;
    for (const CaseResult& result : cases)
        sum.add(result);
    return sum;
}

std::vector<std::pair<std::string, Totals>> Report::per_op() const {
    std::vector<std::pair<std::string, Totals>> ops;
    for (const CaseResult& result : cases) {
        auto place =
            std::find_if(ops.begin(), ops.end(), [&](const auto& entry) { return entry.first == result.op; });
        if (place == ops.end()) place = ops.insert(ops.end(), {result.op, {}});
        place->second.add(result);
    }
    return ops;
}

int Report::exit_code() const {
    const Totals sum = totals();
    return sum.failed == 0 && sum.passed > 0 ? kAllGood : kSomethingFailed;
}

std::string table(const Report& report) {
    std::string text;
    const auto ops = report.per_op();
    if (!ops.empty()) {
        std::size_t width = 9;
        for (const auto& entry : ops)
            width = std::max(width, entry.first.size());
        text += fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9}\n", "operation", width, "cases",
                            "passed", "failed", "skipped", "max ulp", "seconds");
        for (const auto& [op, sum] : ops)
            text += fmt::format("{:<{}} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9.3f}\n", op, width, sum.cases(),
                                sum.passed, sum.failed, sum.skipped, ulp_text(sum.max_ulp), sum.seconds);
    }
    const Totals sum = report.totals();
    return text + fmt::format("{} passed, {} failed, {} skipped\n", sum.passed, sum.failed, sum.skipped);
}

}  // namespace plumb::cli
