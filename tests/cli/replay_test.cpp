#include <doctest/doctest.h>

#include <cstring>

#include <nlohmann/json.hpp>

#include <plumb/tensor/block.h>

#include "cli/case_folder.h"
#include "cli/xml.h"

using namespace plumb;
using namespace plumb::test;
using nlohmann::json;

namespace {

const std::string kGather = "all_gather-w2-concat-2x3-f32-random";
const std::string kAllToAll = "a2a-w2-g0s1-2x2x3-f32-random";
const std::string kReduce = "all_reduce-w2-sum-2x3-i32-random";
const std::string kError = "broadcast-meshseq-src-not-in-group-2x3-f32-error";

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

TEST_CASE("the last line counts, and only cases of this world size do") {
    const Ran ran = run_plumb("replay --filter 'all_gather-*' --filter 'broadcast-*' " + quoted(golden()), 2);
    CHECK(ran.code == 0);
    CHECK_MESSAGE(ends_with(ran.out, "\n12 passed, 0 failed, 0 skipped\n"), ran.out);
    CHECK(count(ran.out, "FAILED") == 0);
    CHECK(count(ran.out, "all_gather ") == 1);
    CHECK(count(ran.out, "broadcast ") == 1);
}

TEST_CASE("-v names every case") {
    const Ran ran = run_plumb("replay -v --filter '" + kGather + "' " + quoted(golden()), 2);
    CHECK(ran.code == 0);
    CHECK(count(ran.out, "passed " + kGather) == 1);
}

TEST_CASE("several folders") {
    CaseFolder one({kGather});
    CaseFolder two({kAllToAll, kReduce});
    const Ran ran = run_plumb("replay " + one.write() + " " + two.write(), 2);
    CHECK(ran.code == 0);
    CHECK(ends_with(ran.out, "3 passed, 0 failed, 0 skipped\n"));
}

TEST_CASE("nothing to run is exit code 1, and is said") {
    CaseFolder folder({kGather});
    const Ran world = run_plumb("replay " + folder.write(), 3);
    CHECK(world.code == 1);
    CHECK(count(world.out, "no case for 3 rank(s); worlds of the cases there are: 2\n") == 1);
    CHECK(ends_with(world.out, "0 passed, 0 failed, 0 skipped\n"));
    const Ran filter = run_plumb("replay --filter nothing " + folder.path(), 2);
    CHECK(filter.code == 1);
    CHECK(count(filter.out, "matches the filter") == 1);
}

TEST_CASE("--list names id, world and operation of the cases that match") {
    const Ran ran = run_plumb("replay --list --filter '*-w2-concat-2x3*' " + quoted(golden()));
    CHECK(ran.code == 0);
    CHECK(ran.out == kGather + "\t2\tall_gather\n");
    const Ran all = run_plumb("replay --list " + quoted(golden()));
    CHECK(count(all.out, "\n") == 413);
}

TEST_CASE("a wrong value is reported with rank, tensor, index, both values and their distance") {
    CaseFolder folder({kGather, kAllToAll});
    Tensor& out = folder.tensor(kGather + "/rank1_out");
    REQUIRE(out.shape() == Shape{4, 3});
    float& value = out.data<float>()[3 * 3 + 2];
    const float right = value;
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    bits += 5;
    std::memcpy(&value, &bits, 4);
    const Ran ran = run_plumb(
        "replay --json " + folder.path() + "/r.json --junit " + folder.path() + "/r.xml " + folder.write(),
        2);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(count(ran.out, "FAILED " + kGather + ": rank 1, rank1_out [3, 2]: expected ") == 1,
                  ran.out);
    CHECK(count(ran.out, ", 5 ulp (1 of 12 wrong)\n") == 1);
    CHECK(ends_with(ran.out, "1 passed, 1 failed, 0 skipped\n"));

    const json report = json::parse(read_file(folder.path() + "/r.json"));
    CHECK(report.at("command") == "replay");
    CHECK(report.at("ranks") == 2);
    CHECK(report.at("totals").at("passed") == 1);
    CHECK(report.at("totals").at("failed") == 1);
    const json& wrong = report.at("cases").at(0);
    CHECK(wrong.at("id") == kGather);
    CHECK(wrong.at("status") == "failed");
    CHECK(wrong.at("rank") == 1);
    CHECK(wrong.at("role") == "out");
    CHECK(wrong.at("index") == std::vector<int>{3, 2});
    CHECK(wrong.at("ulp") == 5);
    CHECK(wrong.at("wrong") == 1);
    CHECK(std::stof(wrong.at("expected").get<std::string>()) == value);
    CHECK(std::stof(wrong.at("got").get<std::string>()) == right);
    CHECK(report.at("cases").at(1).at("status") == "passed");

    const Element junit = parse_xml(read_file(folder.path() + "/r.xml"));
    CHECK(junit.attributes.at("failures") == "1");
    CHECK(junit.all("testcase").size() == 2);
    REQUIRE(junit.all("failure").size() == 1);
    CHECK(count(junit.all("failure")[0]->text, "rank1_out [3, 2]") >= 1);
}

TEST_CASE("a wrong gradient is reported on its rank alone, and the next case passes") {
    CaseFolder folder({kAllToAll, kGather});
    folder.tensor(kAllToAll + "/rank0_gradin").data<float>()[0] += 1;
    const Ran ran = run_plumb("replay " + folder.write(), 2);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(count(ran.out, "FAILED " + kAllToAll + ": rank 0, rank0_gradin [0, 0, 0]: expected ") == 1,
                  ran.out);
    CHECK(count(ran.out, "wrong on ranks") == 0);
    CHECK(ends_with(ran.out, "1 passed, 1 failed, 0 skipped\n"));
}

TEST_CASE("an error that does not come, and one that comes where none should") {
    CaseFolder folder({kGather, kError});
    folder.entry(kGather)["expected"] = "error";
    folder.entry(kGather)["error"] = {{"reason", "planted"}, {"ranks", {1}}, {"phase", "forward"}};
    const Ran two = run_plumb("replay " + folder.write(), 2);
    CHECK(two.code == 1);
    CHECK_MESSAGE(
        count(two.out, "the call went through, expected an error: planted; wrong on ranks 0, 1") == 1,
        two.out);

    folder.entry(kError)["error"]["ranks"] = {1};  // recorded: ranks 2 and 3, the other group
    const Ran four = run_plumb("replay -v " + folder.write(), 4);
    CHECK(four.code == 1);
    CHECK_MESSAGE(count(four.out, "rank 0: the call went through, expected an error") == 1, four.out);
    CHECK(count(four.out, "rank 2: this group's call is right, expected it to complete, got: broadcast") ==
          1);
    CHECK(count(four.out, "wrong on ranks 0, 1, 2, 3") == 1);
}

TEST_CASE("groups count, mesh and mode are labels") {
    CaseFolder folder({kGather, kReduce});
    // In the order 1, 0: the outputs' halves change places.
    folder.entry(kGather)["groups"] = {{1, 0}};
    for (const char* rank : {"0", "1"}) {
        Tensor& out = folder.tensor(kGather + "/rank" + rank + "_out");
        const Tensor old = out.clone();
        copy(out.narrow(0, 0, 2).view(), old.narrow(0, 2, 2).view());
        copy(out.narrow(0, 2, 2).view(), old.narrow(0, 0, 2).view());
    }
    // Rank 1 alone: its sum is its input; rank 0 has no part.
    folder.entry(kReduce)["groups"] = {{1}};
    folder.entry(kReduce)["mesh"] = "no mesh at all";
    folder.entry(kReduce)["mode"] = "NOBODY";
    for (const char* key : {"rank0_in", "rank0_out"}) {
        folder.entry(kReduce)["tensors"].erase(key);
        folder.tensors().erase(kReduce + "/" + key);
    }
    folder.tensor(kReduce + "/rank1_out") = folder.tensor(kReduce + "/rank1_in");
    const Ran ran = run_plumb("replay " + folder.write(), 2);
    CHECK_MESSAGE(ran.code == 0, ran.all());
    CHECK(ends_with(ran.out, "2 passed, 0 failed, 0 skipped\n"));
}

TEST_CASE("a case without results is run and counts as skipped; alone that is nothing") {
    CaseFolder folder({kGather, kReduce});
    const auto strip = [&](const std::string& id) {
        folder.entry(id)["expected"] = "unknown";
        for (const char* key : {"rank0_out", "rank1_out"}) {
            folder.entry(id)["tensors"].erase(key);
            folder.tensors().erase(id + "/" + key);
        }
    };
    strip(kGather);
    const Ran some = run_plumb("replay --junit " + folder.path() + "/r.xml " + folder.write(), 2);
    CHECK_MESSAGE(some.code == 0, some.all());
    CHECK(ends_with(some.out, "1 passed, 0 failed, 1 skipped\n"));
    CHECK(parse_xml(read_file(folder.path() + "/r.xml")).attributes.at("skipped") == "1");
    strip(kReduce);
    const Ran none = run_plumb("replay " + folder.write(), 2);
    CHECK(none.code == 1);
    CHECK(ends_with(none.out, "0 passed, 0 failed, 2 skipped\n"));
}

TEST_CASE("what this version does not know or have fails and is named") {
    const std::string halo = "halo-w2-l1r2d3-2x1x3x4-f32-random-p2p";
    CaseFolder folder({kGather, halo, kReduce});
    folder.entry(kGather)["params"]["colour"] = "red";
    folder.entry(halo)["params"]["edge"] = "periodic";
    folder.entry(kReduce)["params"]["order"] = "ordered";
    const Ran ran = run_plumb("replay " + folder.write(), 2);
    CHECK(ran.code == 1);
    CHECK_MESSAGE(count(ran.out, "colour: unknown key") == 1, ran.out);
    CHECK(count(ran.out, "not supported by this version: params.edge periodic") == 1);
    CHECK(ends_with(ran.out, "1 passed, 2 failed, 0 skipped\n"));
}

TEST_CASE("a wait that runs out of time ends the job") {
    const Ran ran = run_plumb("replay " + quoted(golden()), 2, "PLUMB_TIMEOUT=1e-9");
    CHECK(ran.code != 0);
    CHECK_MESSAGE(count(ran.all(), "not complete after") > 0, ran.all());
}

TEST_CASE("where ranks do not agree on their calls first, error cases are not run") {
    for (const std::string& level : std::vector<std::string>{"local", "off"}) {
        const Ran ran =
            run_plumb("replay --filter 'all_gather-*' " + quoted(golden()), 2, "PLUMB_CHECK=" + level);
        CHECK_MESSAGE(ran.code == 0, ran.all());
        CHECK(ends_with(ran.out, "5 passed, 0 failed, 2 skipped\n"));
    }
}
