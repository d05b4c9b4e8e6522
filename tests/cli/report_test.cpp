#include <doctest/doctest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/report.h"
#include "cli/xml.h"

using namespace plumb::cli;
using plumb::test::parse_xml;

namespace {

Finding wrong_element() {
    Finding finding;
    finding.rank = 3;
    finding.role = "out_1";
    finding.index = {0, 2};
    finding.expected = "1 (0x3f800000)";
    finding.got = "nan (0x7fc00000)";
    finding.ulp = std::numeric_limits<std::uint64_t>::max();
    finding.wrong = 2;
    finding.elements = 6;
    return finding;
}

Finding remark(const std::string& text) {
    Finding finding;
    finding.message = text;
    return finding;
}

CaseResult result(const std::string& op, const std::string& id, Status status) {
    CaseResult made;
    made.op = op;
    made.id = id;
    made.status = status;
    made.seconds = 0.25;
    return made;
}

Report sample() {
    Report report;
    report.command = "replay";
    report.ranks = 4;
    report.cases = {result("b_op", "one", Status::passed), result("a_op", "two", Status::failed),
                    result("b_op", "three", Status::skipped)};
    report.cases[1].findings = {wrong_element(), remark("a <tag> & \"quotes\" \x01 \xff\nsecond line")};
    report.cases[1].max_ulp = 7;
    report.cases[2].reason = "no results";
    return report;
}

}  // namespace

TEST_CASE("a finding in words") {
    CHECK(describe(wrong_element()) ==
          "rank 3, rank3_out_1 [0, 2]: expected 1 (0x3f800000), got nan (0x7fc00000), one is NaN (2 of 6 "
          "wrong)");
    CHECK(describe(remark("hello")) == "rank 0: hello");
}

TEST_CASE("findings travel as text") {
    const std::vector<Finding> sent = {wrong_element(), remark("\"quoted\"\n")};
    const std::vector<Finding> got = findings_from_text(to_text(sent));
    REQUIRE(got.size() == 2);
    CHECK(describe(got[0]) == describe(sent[0]));
    CHECK(got[0].ulp == sent[0].ulp);
    CHECK(describe(got[1]) == describe(sent[1]));
}

TEST_CASE("table, last line and exit code") {
    const Report report = sample();
    const std::string text = table(report);
    CHECK(text.find("b_op") < text.find("a_op"));
    CHECK(text.substr(text.rfind('\n', text.size() - 2) + 1) == "1 passed, 1 failed, 1 skipped\n");
    CHECK(report.exit_code() == 1);
    Report good = sample();
    good.cases[1].status = Status::passed;
    CHECK(good.exit_code() == 0);
    Report nothing = sample();
    nothing.cases = {nothing.cases[2]};
    CHECK(nothing.exit_code() == 1);
    nothing.cases.clear();
    CHECK(nothing.exit_code() == 1);
}

TEST_CASE("JUnit: well-formed whatever the messages hold") {
    const auto root = parse_xml(to_junit(sample()));
    CHECK(root.name == "testsuites");
    CHECK(root.attributes.at("tests") == "3");
    CHECK(root.attributes.at("failures") == "1");
    CHECK(root.attributes.at("skipped") == "1");
    REQUIRE(root.all("testsuite").size() == 2);
    CHECK(root.all("testsuite")[0]->attributes.at("name") == "b_op");
    REQUIRE(root.all("failure").size() == 1);
    const std::string details = root.all("failure")[0]->text;
    CHECK(details.find("a <tag> & \"quotes\" \\x01 \\xff\nsecond line") != std::string::npos);
    CHECK(details.find("rank3_out_1 [0, 2]") != std::string::npos);
    CHECK(root.all("skipped")[0]->attributes.at("message") == "no results");
}

TEST_CASE("JUnit: characters beyond ASCII stay, bytes that are none do not") {
    Report report = sample();
    report.cases[2].reason = "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\xa0\x80 \xc0\xaf";
    const auto root = parse_xml(to_junit(report));
    CHECK(root.all("skipped")[0]->attributes.at("message") ==
          "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \\xed\\xa0\\x80 \\xc0\\xaf");
}

TEST_CASE("JSON: the first finding stands in the case") {
    const auto json = nlohmann::json::parse(to_json(sample()));
    CHECK(json.at("totals").at("cases") == 3);
    const auto& failed = json.at("cases").at(1);
    CHECK(failed.at("status") == "failed");
    CHECK(failed.at("rank") == 3);
    CHECK(failed.at("role") == "out_1");
    CHECK(failed.at("index") == std::vector<int>{0, 2});
    CHECK(failed.at("findings").size() == 2);
    CHECK(json.at("ops").at(0).at("op") == "b_op");
}

TEST_CASE("patterns") {
    CHECK(matches({}, "anything"));
    CHECK(matches({"b*", "*x"}, "abx"));
    CHECK(matches({"a?[bc]"}, "axc"));
    CHECK_FALSE(matches({"a"}, "ab"));
    CHECK_FALSE(matches({"b*", "c*"}, "abc"));
}
