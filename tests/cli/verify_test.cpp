#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/xml.h"

using namespace plumb::test;
using nlohmann::json;

TEST_CASE("verify counts what it ran, in the table, the last line and the files") {
    const Folder folder;
    const Ran ran =
        run_plumb("verify --cases 100 --json " + folder / "v.json" + " --junit " + folder / "v.xml", 2);
    CHECK_MESSAGE(ran.code == 0, ran.all());
    CHECK(count(ran.out, "\n100 passed, 0 failed, 0 skipped\n") == 1);
    const json report = json::parse(read_file(folder / "v.json"));
    CHECK(report.at("command") == "verify");
    CHECK(report.at("mesh") == "sequence=2");
    CHECK(report.at("totals").at("passed") == 100);
    CHECK(report.at("cases").size() == 100);
    int sum = 0;
    for (const auto& op : report.at("ops"))
        sum += op.at("passed").get<int>();
    CHECK(sum == 100);
    CHECK(parse_xml(read_file(folder / "v.xml")).all("testcase").size() == 100);
}

TEST_CASE("the default meshes") {
    CHECK(count(run_plumb("verify --cases 5", 1).out, "mesh sequence=1,") == 1);
    CHECK(count(run_plumb("verify --cases 5", 3).out, "mesh sequence=3,") == 1);
    CHECK(count(run_plumb("verify --cases 5", 4).out, "mesh data=2,sequence=2,") == 1);
}

TEST_CASE("every operation, mode and element type is in the family") {
    const std::string list = run_plumb("verify --list --mesh data=2,sequence=2").out;
    for (const std::string& op : std::vector<std::string>{
             "scatter", "gather", "broadcast", "all_gather", "all_to_all_single", "all_reduce", "reduce",
             "reduce_scatter", "all_to_all", "scatter_to_sequence_parallel_region",
             "gather_from_sequence_parallel_region", "cp_halo_exchange", "adjoint-all_to_all",
             "adjoint-cp_halo_exchange", "send_recv", "broadcast_object_list"})
        for (const std::string& mode : std::vector<std::string>{"global", "data", "sequence", "data+sequence",
                                                                "intra_node", "inter_node"})
            CHECK_MESSAGE(
                count(list, "\n" + op + "-" + mode + "-") + (list.rfind(op + "-" + mode + "-", 0) == 0) > 0,
                (op + " " + mode));
    for (const std::string& dtype :
         std::vector<std::string>{"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64",
                                  "c128", "f8_e4m3fn", "f8_e5m2"})
        for (const std::string& layout :
             std::vector<std::string>{"contiguous", "transposed", "sliced", "stride0"})
            CHECK(count(list, "-" + dtype + "-" + layout + "-") > 0);
    CHECK(count(list, "\nall_reduce_dict-") > 0);
}

TEST_CASE("choices by seed, operation, element type and name") {
    const std::string some = run_plumb("verify --list --cases 20 --seed 3").out;
    CHECK(count(some, "\n") == 20);
    CHECK(run_plumb("verify --list --cases 20 --seed 3").out == some);
    CHECK(run_plumb("verify --list --cases 20 --seed 4").out != some);

    const std::string only = run_plumb("verify --list --op broadcast --op all_gather --dtype bfloat16").out;
    CHECK(count(only, "\n") == count(only, "-bf16-"));
    CHECK(count(only, "broadcast-") + count(only, "all_gather-") == count(only, "\n"));
    CHECK(count(only, "broadcast-") > 0);
    CHECK(count(only, "all_gather-") > 0);

    const std::string first = some.substr(0, some.find('\n'));
    const Ran one = run_plumb("verify --mesh sequence=2 --filter '" + first + "'", 2);
    CHECK(one.code == 0);
    CHECK(count(one.out, "\n1 passed, 0 failed, 0 skipped\n") == 1);
    const Ran none = run_plumb("verify --filter nothing", 1);
    CHECK(none.code == 1);
    CHECK(count(none.out, "no case of the family matches") == 1);
}
