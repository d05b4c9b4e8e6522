#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/context/comm_context.h>
#include <plumb/core/error.h>

#include "cli/commands.h"
#include "cli/errors.h"
#include "cli/output.h"
#include "cli/verify_case.h"

namespace plumb::cli {

namespace {

/// Cases between two exchanges of what the ranks found.
constexpr std::size_t kBlock = 64;

std::string default_mesh(int ranks) {
    return ranks > 2 && ranks % 2 == 0 ? fmt::format("data=2,sequence={}", ranks / 2)
                                       : fmt::format("sequence={}", ranks);
}

Mesh mesh_of(const VerifyOptions& options, int ranks) {
    try {
        return Mesh(options.mesh.empty() ? default_mesh(ranks) : options.mesh);
    } catch (const ArgumentError& error) {
        throw CannotRun(error.what());
    }
}

/// Throws CannotRun for an operation or element type that there is not.
std::vector<DType> wanted_dtypes(const VerifyOptions& options) {
    const std::vector<std::string_view> ops = verify_ops();
    for (const std::string& op : options.ops)
        if (std::find(ops.begin(), ops.end(), op) == ops.end())
            throw CannotRun(fmt::format("--op is '{}', allowed are {}", op, fmt::join(ops, ", ")));
    std::vector<DType> dtypes;
    for (const std::string& text : options.dtypes)
        try {
            dtypes.push_back(dtype_from_name(text));
        } catch (const ArgumentError& error) {
            throw CannotRun(fmt::format("--dtype: {}", error.what()));
        }
    return dtypes;
}

template <class T, class U>
bool among(const std::vector<T>& wanted, const U& value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

/// `count` of the specs, chosen by the seed, in their order.
void choose(std::vector<VerifySpec>& specs, std::size_t count, std::uint64_t seed) {
    if (count >= specs.size()) return;
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < specs.size(); ++i)
        order.emplace_back(draw(sub_key(seed, 0), i), i);
    std::sort(order.begin(), order.end());
    order.resize(count);
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    std::vector<VerifySpec> chosen;
    for (const auto& entry : order)
        chosen.push_back(std::move(specs[entry.second]));
    specs = std::move(chosen);
}

std::vector<VerifySpec> chosen_specs(const VerifyOptions& options, const Mesh& mesh) {
    const std::vector<DType> dtypes = wanted_dtypes(options);
    std::vector<VerifySpec> specs = verify_family(mesh);
    std::erase_if(specs, [&](const VerifySpec& spec) {
        return !among(options.ops, spec.driver->op) || !among(dtypes, spec.dtype) ||
               !matches(options.common.filters, spec.id);
    });
    if (options.cases > 0) choose(specs, static_cast<std::size_t>(options.cases), options.seed);
    return specs;
}

/// Runs the cases, in blocks: between two of them the ranks do not tell each other anything but what the
/// operations do, and after each block everything.
class Runner {
  public:
    Runner(const Job& job, const Mesh& mesh, std::uint64_t seed)
        : job_(job), context_(mesh.to_string()), seed_(seed) {}

    /// One result per spec, the same on every rank but for the time.
    std::vector<CaseResult> run(const VerifySpec* specs, std::size_t count);
    [[nodiscard]] bool hung() const noexcept { return hung_; }

  private:
    void share(std::vector<CaseResult>& results, const std::vector<RankOutcome>& outcomes);

    const Job& job_;
    CommContext context_;
    std::uint64_t seed_;
    bool hung_ = false;
};

std::vector<CaseResult> Runner::run(const VerifySpec* specs, std::size_t count) {
    using Clock = std::chrono::steady_clock;
    std::vector<CaseResult> results(count);
    std::vector<RankOutcome> outcomes(count);
    bool stopped = false;
    for (std::size_t i = 0; i < count; ++i) {
        const VerifySpec& spec = specs[i];
        results[i].id = spec.id;
        results[i].op = spec.row();
        results[i].rerun = fmt::format("mpirun -n {} plumb verify --mesh {} --seed {} --filter '{}'",
                                       job_.size(), context_.mesh().to_string(), seed_, spec.id);
        if (stopped) {
            outcomes[i].wrong(GlobalRank(job_.rank()), "",
                              "not run: in an earlier case this rank waited in vain");
            continue;
        }
        const auto start = Clock::now();
        outcomes[i] = run_verify_case(spec, context_.group(spec.mode), job_.size(), seed_);
        results[i].seconds = std::chrono::duration<double>(Clock::now() - start).count();
        stopped = outcomes[i].timed_out;
    }
    share(results, outcomes);
    return results;
}

void Runner::share(std::vector<CaseResult>& results, const std::vector<RankOutcome>& outcomes) {
    std::vector<Finding> findings;
    std::array<std::uint64_t, 2> words = {0, 0};
    std::vector<std::uint64_t> ulps;
    for (const RankOutcome& outcome : outcomes) {
        words[0] += outcome.findings.size();
        words[1] += outcome.timed_out ? 1 : 0;
        ulps.push_back(outcome.max_ulp);
    }
    std::uint64_t found = 0;
    const std::vector<std::uint64_t> all = job_.all_gather(words);
    for (std::size_t r = 0; r < all.size(); r += words.size()) {
        found += all[r];
        hung_ = hung_ || all[r + 1] != 0;
    }
    if (found == 0) return;  // then everything is exact: no distance to report either
    const std::vector<std::uint64_t> all_ulps = job_.all_gather(ulps);
    for (std::size_t i = 0; i < all_ulps.size(); ++i)
        results[i % ulps.size()].max_ulp = std::max(results[i % ulps.size()].max_ulp, all_ulps[i]);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        for (const std::string& text : job_.all_gather(to_text(outcomes[i].findings)))
            for (const Finding& finding : findings_from_text(text)) {
                results[i].status = Status::failed;
                results[i].findings.push_back(finding);
            }
}

}  // namespace

std::string list_verify(const VerifyOptions& options, int ranks) {
    std::string text;
    for (const VerifySpec& spec : chosen_specs(options, mesh_of(options, ranks)))
        text += spec.id + "\n";
    return text;
}

int verify(Job& job, const VerifyOptions& options) {
    const Mesh mesh = mesh_of(options, job.size());
    const std::vector<VerifySpec> specs = chosen_specs(options, mesh);
    Output output(job, options.common);
    Report report;
    report.command = "verify";
    report.ranks = job.size();
    report.facts = {{"mesh", mesh.to_string()}, {"seed", fmt::format("{}", options.seed)}};
    std::optional<Runner> runner;
    try {
        runner.emplace(job, mesh, options.seed);
    } catch (const AgreementError& error) {
        throw CannotRun(error.what());
    }
    output.print(fmt::format("mesh {}, {} rank(s), seed {}, {} cases\n", mesh.to_string(), job.size(),
                             options.seed, specs.size()));
    for (std::size_t begin = 0; begin < specs.size() && !runner->hung(); begin += kBlock) {
        output.progress(begin, specs.size(), specs[begin].id);
        for (CaseResult& result : runner->run(&specs[begin], std::min(kBlock, specs.size() - begin))) {
            output.print_case(result);
            report.cases.push_back(std::move(result));
        }
    }
    if (specs.empty()) output.print("no case of the family matches what was asked for\n");
    if (runner->hung())
        output.print(fmt::format("stopped after {} of {} cases: a rank waited in vain\n", report.cases.size(),
                                 specs.size()));
    output.finish(report);
    if (runner->hung()) Job::abort();
    return report.exit_code();
}

}  // namespace plumb::cli
