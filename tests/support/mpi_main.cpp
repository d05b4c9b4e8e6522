// main() of the tests that run under the MPI launcher. Every rank runs every test case; after each case the
// ranks tell each other whether they failed, so that all start the next one together. A rank's output is
// shown if that rank failed, or with -v. One failing rank fails the job; a rank that hangs is ended by its
// watchdog (PLUMB_TEST_TIMEOUT seconds, default 120) and says where it was; a rank that failed while the
// others hang waits for them no longer than PLUMB_TEST_GRACE seconds (default 10).
#include <doctest/doctest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/job.h"
#include "support/job_sync.h"
#include "support/rank_output.h"
#include "support/watchdog.h"

namespace plumb::test {
namespace {

/// What this process knows of its own run; the watchdog's thread reads the name of the case.
struct Run {
    explicit Run(int rank) : output(rank) {}

    void enter(std::string name) {
        const std::scoped_lock lock(mutex);
        where = std::move(name);
    }
    [[nodiscard]] std::string place() {
        const std::scoped_lock lock(mutex);
        return where.empty() ? "no test case" : "test case '" + where + "'";
    }

    RankOutput output;
    std::unique_ptr<JobSync> sync;
    std::mutex mutex;
    std::string where;
    int cases = 0;
    bool crashed = false;
    bool finished = false;
};

Run* run = nullptr;

bool mpi_is_usable() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized == 0;
}

/// The others hang in something that this rank has left by failing: end the job.
[[noreturn]] void end_hanging_job() {
    run->output.note("this rank failed in " + run->place() +
                     " and the others are still in it: ending the job");
    run->output.print();
    _exit(EXIT_FAILURE);
}

std::vector<int> failing_ranks(bool failed) {
    if (!mpi_is_usable()) {
        run->output.note("MPI was finalized in " + run->place());
        run->output.print();
        _exit(EXIT_FAILURE);
    }
    auto failing = run->sync->failing_ranks(failed);
    if (!failing) end_hanging_job();
    return *failing;
}

struct KeepRanksTogether : doctest::IReporter {
    explicit KeepRanksTogether(const doctest::ContextOptions& /*options*/) {}

    void test_case_start(const doctest::TestCaseData& data) override {
        ++run->cases;
        run->enter(data.m_name);
    }
    void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
        if (run->crashed) {
            run->output.print();  // a signal is about to end this process
            return;
        }
        (void)failing_ranks(!stats.testCaseSuccess);
        run->enter({});
    }
    void test_case_exception(const doctest::TestCaseException& error) override {
        run->crashed |= error.is_crash;
    }

    void report_query(const doctest::QueryData& /*data*/) override { ++run->cases; }
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
    void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
    void subcase_start(const doctest::SubcaseSignature& /*name*/) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& /*data*/) override {}
    void log_message(const doctest::MessageData& /*data*/) override {}
    void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};

/// A test that calls exit(), even exit(0), fails.
void report_early_exit() {
    if (run == nullptr || run->finished) return;
    run->output.note("the process ended in " + run->place());
    run->output.print();
    _exit(EXIT_FAILURE);
}

bool take_flag(std::vector<char*>& arguments, std::string_view flag) {
    return std::erase_if(arguments, [flag](const char* argument) { return flag == argument; }) > 0;
}

void print_verdict(const std::vector<int>& failing) {
    std::string verdict = failing.empty() ? "passed" : "FAILED on rank";
    for (const int r : failing)
        verdict += ' ' + std::to_string(r);
    std::cout << run->cases << " test cases on " << ranks() << " ranks: " << verdict << std::endl;
}

bool run_cases(std::vector<char*> arguments) {
    const bool verbose = take_flag(arguments, "-v");
    doctest::Context context(static_cast<int>(arguments.size()), arguments.data());
    context.setOption("no-colors", true);
    context.setCout(&run->output.stream());
    bool failed = context.run() != 0;
    if (run->cases == 0) {
        run->output.note("no test case ran");
        failed = true;
    }
    if (failed || verbose) run->output.print();

    const auto failing = failing_ranks(failed);
    if (rank() == 0) print_verdict(failing);
    return failing.empty();
}

}  // namespace
}  // namespace plumb::test

namespace {

using plumb::test::KeepRanksTogether;
REGISTER_LISTENER("keep_ranks_together", 1, KeepRanksTogether);

}  // namespace

int main(int argc, char** argv) {
    using namespace plumb::test;
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);

    Run this_run(rank());
    run = &this_run;
    this_run.sync = std::make_unique<JobSync>();
    std::atexit(report_early_exit);

    bool passed = false;
    {
        const Watchdog watchdog(seconds_from("PLUMB_TEST_TIMEOUT", std::chrono::seconds(120)), [] {
            run->output.note("timed out in " + run->place());
            run->output.print();
        });
        passed = run_cases({argv, argv + argc});
        this_run.sync.reset();
        MPI_Finalize();
    }
    this_run.finished = true;
    run = nullptr;
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
