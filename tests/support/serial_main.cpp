// main() of the tests that need no MPI.
#include <doctest/doctest.h>

#include <iostream>

namespace {

int cases_run = 0;

struct CountCases : doctest::IReporter {
    explicit CountCases(const doctest::ContextOptions& /*options*/) {}
    void report_query(const doctest::QueryData& /*data*/) override { ++cases_run; }
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
    void test_case_start(const doctest::TestCaseData& /*data*/) override { ++cases_run; }
    void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
    void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
    void test_case_exception(const doctest::TestCaseException& /*error*/) override {}
    void subcase_start(const doctest::SubcaseSignature& /*name*/) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& /*data*/) override {}
    void log_message(const doctest::MessageData& /*data*/) override {}
    void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};

}  // namespace

REGISTER_LISTENER("count_cases", 1, CountCases);

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int status = context.run();
    if (status == 0 && cases_run == 0) {
        std::cerr << "no test case ran\n";
        return 1;
    }
    return status;
}
