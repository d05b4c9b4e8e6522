#include <set>

#include <fmt/format.h>

#include <plumb/oracle/case_set.h>

#include "cli/case_run.h"
#include "cli/commands.h"
#include "cli/errors.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/replay_case.h"

namespace plumb::cli {

namespace {

std::vector<oracle::CaseSet> load(const std::vector<std::string>& folders) {
    std::vector<oracle::CaseSet> sets;
    for (const std::string& folder : folders)
        sets.push_back(oracle::CaseSet::load(folder));
    return sets;
}

/// What all ranks must have read alike.
std::uint64_t digest_of(const std::vector<oracle::CaseSet>& sets) {
    std::string text;
    for (const oracle::CaseSet& set : sets)
        for (const oracle::Case& item : set.cases()) {
            text += fmt::format("{} {} {} {} {};", item.id, item.op, item.world, item.tensors.size(),
                                item.problem);
            for (const auto& [key, entry] : item.tensors)
                text += fmt::format("{} {} {};", key, to_string(entry.shape), name(entry.dtype));
        }
    return cli::digest_of(text);
}

/// Loads on every rank; what one cannot read, none can use.
std::vector<oracle::CaseSet> load_everywhere(const Job& job, const std::vector<std::string>& folders) {
    std::vector<oracle::CaseSet> sets;
    std::optional<std::string> problem;
    std::uint64_t digest = 0;
    try {
        sets = load(folders);
        digest = digest_of(sets);
    } catch (const std::exception& error) {
        problem = error.what();
    }
    job.require_none(problem);
    for (const std::uint64_t other : job.all_gather(std::span(&digest, 1)))
        if (other != digest) problem = "the ranks read different case sets: do they see the same files?";
    job.require_none(problem);
    return sets;
}

CaseResult not_run(const oracle::Case& item) {
    CaseResult result;
    result.id = item.id;
    result.op = item.op;
    result.status = Status::failed;
    result.reason = "not run: in an earlier case a rank waited in vain";
    return result;
}

std::string worlds_of(const std::vector<oracle::CaseSet>& sets) {
    std::set<int> worlds;
    for (const oracle::CaseSet& set : sets)
        for (const oracle::Case& item : set.cases())
            worlds.insert(item.world);
    std::string text;
    for (const int world : worlds)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", world);
    return text.empty() ? "none" : text;
}

}  // namespace

std::string list_replay(const ReplayOptions& options) {
    std::string text;
    for (const oracle::CaseSet& set : load(options.folders))
        for (const oracle::Case& item : set.cases())
            if (matches(options.common.filters, item.id))
                text += fmt::format("{}\t{}\t{}\n", item.id, item.world, item.op);
    return text;
}

int replay(Job& job, const ReplayOptions& options) {
    const std::vector<oracle::CaseSet> sets = load_everywhere(job, options.folders);
    Output output(job, options.common);
    Report report;
    report.command = "replay";
    report.ranks = job.size();
    bool hung = false;
    {
        Groups groups(job);
        std::vector<std::pair<const oracle::CaseSet*, const oracle::Case*>> chosen;
        for (const oracle::CaseSet& set : sets)
            for (const oracle::Case& item : set.cases())
                if (item.world == job.size() && matches(options.common.filters, item.id))
                    chosen.emplace_back(&set, &item);
        for (const auto& [set, item] : chosen) {
            output.progress(report.cases.size(), chosen.size(), item->id);
            ReplayCase runner(job, groups, *set);
            report.cases.push_back(hung ? not_run(*item) : runner.run(*item));
            if (!hung) output.print_case(report.cases.back());
            hung = hung || runner.hung();
        }
        if (chosen.empty())
            output.print(fmt::format("no case for {} rank(s){}; worlds of the cases there are: {}\n",
                                     job.size(), options.common.filters.empty() ? "" : " matches the filter",
                                     worlds_of(sets)));
        output.finish(report);
        if (hung) Job::abort();
    }
    return report.exit_code();
}

}  // namespace plumb::cli
