#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "cli/xml.h"

using namespace plumb::test;

TEST_CASE("info says what is there, as text and as JSON") {
    const Folder folder;
    const Ran ran = run_plumb(
        "info --mesh data=2,sequence=2 --json " + folder / "info.json" + " --junit " + folder / "info.xml", 4,
        "PLUMB_CHECK=agree");
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    for (const char* word : {PLUMB_PROJECT_VERSION, "thread level", "4 on 1 host(s)", "mpi: host memory",
                             "shm: not available", "PLUMB_CHECK=agree", "mesh data=2,sequence=2"})
        CHECK_MESSAGE(count(ran.out, word) == 1, word);

    const auto json = nlohmann::json::parse(read_file(folder / "info.json"));
    CHECK(json.at("version") == PLUMB_PROJECT_VERSION);
    CHECK(json.at("ranks") == 4);
    CHECK(json.at("hosts").at(0).at("ranks") == std::vector<int>{0, 1, 2, 3});
    CHECK(json.at("environment").at("PLUMB_CHECK") == "agree");
    CHECK(json.at("transports").at(0).at("name") == "mpi");
    CHECK(json.at("transports").at(0).at("available") == true);
    CHECK(json.at("transports").at(1).at("available") == false);
    const auto& ranks = json.at("placement").at("ranks");
    REQUIRE(ranks.size() == 4);
    CHECK(ranks.at(2).at("rank") == 2);
    CHECK(ranks.at(2).at("coordinates").at("data") == 1);
    CHECK(ranks.at(2).at("coordinates").at("sequence") == 0);
    CHECK(ranks.at(2).at("groups").at("data") == std::vector<int>{0, 2});
    CHECK(ranks.at(2).at("groups").at("sequence") == std::vector<int>{2, 3});
    CHECK(parse_xml(read_file(folder / "info.xml")).all("testcase").size() == 1);
}
