#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <plumb/core/error.h>
#include <plumb/oracle/manifest.h>

using namespace plumb;
using namespace plumb::oracle;
using nlohmann::json;

namespace {

/// A case without fault: all_to_all on two ranks.
json good_case() {
    return json::parse(R"({"id": "a", "op": "all_to_all", "world": 2, "mesh": "flat", "mode": "GLOBAL",
        "groups": [[0, 1]], "params": {"gather_dim": 0, "scatter_dim": 1}, "dtype": "float32", "impl": null,
        "kind": "random", "shapes": [[1, 2], [1, 2]], "expected": "values", "compare": "exact",
        "observed": {"anything": [1]}, "tensors": {
        "rank0_in": {"shape": [1, 2], "dtype": "F32"}, "rank1_in": {"shape": [1, 2], "dtype": "F32"},
        "rank0_out": {"shape": [2, 1], "dtype": "F32"}, "rank1_out": {"shape": [2, 1], "dtype": "F32"}}})");
}

std::string manifest_of(const std::vector<json>& cases) {
    return json{{"format_version", 1}, {"cases", cases}, {"some", {{"new", "field"}}}}.dump();
}

/// The message that a manifest is refused with; "" if it is not.
std::string refusal(const std::string& text) {
    try {
        (void)parse_manifest(text, "m.json");
    } catch (const FileError& error) {
        const std::string message = error.what();
        CHECK(message.rfind("m.json: ", 0) == 0);
        return message;
    }
    return "";
}

void check_refused(const json& changed, const std::string& because) {
    const std::string message = refusal(manifest_of({changed}));
    CAPTURE(message);
    CHECK(message.find(because) != std::string::npos);
    CHECK(message.find("cases[0]") != std::string::npos);
}

template <class Change>
json with(Change change) {
    json item = good_case();
    change(item);
    return item;
}

/// The case is in the set, beside a good one that is not disturbed, and says what is wrong with it.
void check_problem(json changed, const std::string& because) {
    changed["id"] = "bad";
    const Manifest manifest = parse_manifest(manifest_of({good_case(), changed}), "m.json");
    REQUIRE(manifest.cases.size() == 2);
    CHECK(manifest.cases[0].problem == "");
    const std::string problem = manifest.cases[1].problem;
    CAPTURE(problem);
    CHECK(problem.find(because) != std::string::npos);
}

}  // namespace

TEST_CASE("a good case") {
    const Manifest manifest = parse_manifest(manifest_of({good_case()}), "m.json");
    REQUIRE(manifest.cases.size() == 1);
    const Case& item = manifest.cases[0];
    CHECK(item.problem == "");
    CHECK(item.op == "all_to_all");
    CHECK(item.world == 2);
    CHECK(item.groups == std::vector<std::vector<GlobalRank>>{{GlobalRank(0), GlobalRank(1)}});
    CHECK(item.params.gather_dim == 0);
    CHECK(item.params.scatter_dim == 1);
    CHECK_FALSE(item.params.dim.has_value());
    CHECK(item.dtype == DType::f32);
    CHECK(item.impl == "");
    CHECK(item.shapes == std::vector<Shape>{{1, 2}, {1, 2}});
    CHECK(item.expected == Expected::values);
    CHECK(item.compare == CompareKind::exact);
    CHECK(item.tensors.at("rank1_out").shape == Shape{2, 1});
    CHECK(item.tensors.at("rank1_out").rank == GlobalRank(1));
    CHECK(item.tensors.at("rank1_out").role == Role::out);
    CHECK(item.group_of(GlobalRank(1)) == 0);
    CHECK_FALSE(item.group_of(GlobalRank(2)).has_value());
}

TEST_CASE("the manifest as a whole") {
    CHECK(refusal("").find("not valid JSON") != std::string::npos);
    CHECK(refusal("[]").find("an object expected") != std::string::npos);
    CHECK(refusal(R"({"cases": []})").find("\"format_version\" is missing") != std::string::npos);
    CHECK(refusal(R"({"format_version": 2, "cases": []})").find("2 is not supported") != std::string::npos);
    CHECK(refusal(R"({"format_version": "1", "cases": []})").find("an integer expected") !=
          std::string::npos);
    CHECK(refusal(R"({"format_version": 1})").find("\"cases\" is missing") != std::string::npos);
    CHECK(refusal(R"({"format_version": 1, "cases": {}})").find("a list expected") != std::string::npos);
    CHECK(refusal(R"({"format_version": 1, "cases": [], "cases": []})").find("occurs twice") !=
          std::string::npos);
    CHECK(
        refusal(R"({"format_version": 1, "cases": [)" + std::string(1'000'000, '[')).find("nested deeper") !=
        std::string::npos);
    CHECK(refusal("{\"format_version\": 1, \"cases\": [], \"\xc0\": 1}").find("not valid JSON") !=
          std::string::npos);
    CHECK(refusal(R"({"format_version": 1, "cases": []})").empty());
    CHECK(refusal(manifest_of({good_case(), good_case()})).find("id \"a\" occurs twice") !=
          std::string::npos);
}

TEST_CASE("digests") {
    const std::string digest(64, 'A');
    const auto text = [](const std::string& name, const std::string& value) {
        return json{{"format_version", 1}, {"cases", json::array()}, {"files", {{name, value}}}}.dump();
    };
    CHECK(parse_manifest(text("x.safetensors", digest), "m").files.at("x.safetensors") ==
          std::string(64, 'a'));
    CHECK(refusal(text("x", "abc")).find("64 hexadecimal digits") != std::string::npos);
    CHECK(refusal(text("x", std::string(64, 'g'))).find("64 hexadecimal digits") != std::string::npos);
    CHECK(refusal(text("../x", digest)).find("not the name of a file") != std::string::npos);
    CHECK(refusal(text("/etc/passwd", digest)).find("not the name of a file") != std::string::npos);
}

TEST_CASE("a case that is not what the format says makes the file invalid") {
    for (const char* field : {"id", "op", "world", "groups", "params", "dtype", "expected", "tensors"})
        check_refused(with([&](json& c) { c.erase(field); }), "\"" + std::string(field) + "\" is missing");
    for (const char* id : {"", "a b", "a/b", "\u00e9", "a\n"})
        check_refused(with([&](json& c) { c["id"] = id; }), "does not match");
    check_refused(with([](json& c) { c["op"] = 3; }), "a string expected");
    check_refused(with([](json& c) { c["mode"] = 3; }), "a string expected");
    check_refused(with([](json& c) { c["world"] = 0; }), "0 is not in 1");
    check_refused(with([](json& c) { c["world"] = 2.0; }), "an integer expected");
    check_refused(with([](json& c) { c["world"] = 1'000'000'000; }), "is not in 1");
    check_refused(with([](json& c) { c["shapes"] = {{1, 2}}; }), "1 shapes for 2 ranks");
    check_refused(with([](json& c) { c["shapes"][0] = {-1}; }), "-1 is not in 0");
    check_refused(with([](json& c) {
                      c["shapes"][0] = json::array({1, 1, 1, 1, 1, 1, 1, 1, 1});
                  }),
                  "more than 8");
    check_refused(with([](json& c) { c["params"]["gather_dim"] = "0"; }), "an integer expected");
    check_refused(with([](json& c) { c["params"]["async_op"] = 1; }), "true or false expected");
    check_refused(with([](json& c) { c["params"] = json::array(); }), "an object expected");
    check_refused(with([](json& c) { c["tensors"]["rank0_in"] = 1; }), "an object expected");
    check_refused(with([](json& c) { c["tensors"]["rank0_in"].erase("shape"); }), "\"shape\" is missing");
    check_refused(with([](json& c) { c["expected"] = "error"; }), "\"error\" is missing");
    check_refused(with([](json& c) {
                      c["expected"] = "error";
                      c["error"] = {{"ranks", {2}}};
                  }),
                  "2 is not in 0");
}

TEST_CASE("groups") {
    check_refused(with([](json& c) { c["groups"] = json::array(); }), "no groups");
    check_refused(with([](json& c) { c["groups"] = json::parse("[[]]"); }), "a group without ranks");
    check_refused(with([](json& c) { c["groups"] = json::parse("[0, 1]"); }), "a list expected");
    check_refused(with([](json& c) { c["groups"] = json::parse("[[0, 2]]"); }), "2 is not in 0");
    check_refused(with([](json& c) { c["groups"] = json::parse("[[0, -1]]"); }), "-1 is not in 0");
    check_refused(with([](json& c) { c["groups"] = json::parse("[[0, 0]]"); }),
                  "rank 0 is in a group already");
    check_refused(with([](json& c) { c["groups"] = json::parse("[[0, 1], [1]]"); }),
                  "rank 1 is in a group already");
}

TEST_CASE("what Plumb does not know fails the case, never the set") {
    check_problem(with([](json& c) { c["op"] = "all_to_none"; }), "op: unknown operation \"all_to_none\"");
    check_problem(with([](json& c) { c["dtype"] = "float33"; }), "dtype: unknown dtype \"float33\"");
    check_problem(with([](json& c) { c["params"]["colour"] = "red"; }), "params.colour: unknown key");
    check_problem(with([](json& c) { c["params"]["left_size"] = 1; }), "all_to_all takes no such argument");
    check_problem(with([](json& c) { c["params"].erase("scatter_dim"); }), "params.scatter_dim is missing");
    check_problem(with([](json& c) { c["params"]["layout"] = "diagonal"; }), "\"diagonal\" is not one of");
    check_problem(with([](json& c) { c["impl"] = "magic"; }), "impl: unknown word");
    check_problem(with([](json& c) { c["expected"] = "surprise"; }), "expected: unknown word");
    check_problem(with([](json& c) { c["compare"] = "roughly"; }), "compare: ");
    check_problem(with([](json& c) { c.erase("compare"); }), "compare: ");
    check_problem(with([](json& c) { c["compare"] = "rounding"; }), "\"rounding\" is for SUM and PRODUCT");
    check_problem(with([](json& c) { c["tensors"]["rank0_in"]["dtype"] = "U16"; }), "not supported");
    check_problem(with([](json& c) { c["params"]["gather_split"] = {1}; }), "1 sizes for a group of 2");
}

TEST_CASE("a case that could not be judged fails") {
    check_problem(with([](json& c) { c["tensors"].erase("rank1_out"); }), "rank1_out is missing");
    check_problem(with([](json& c) { c["tensors"].erase("rank0_in"); }), "rank0_in is missing");
    check_problem(with([](json& c) { c["tensors"]["rank0_gradout"] = c["tensors"]["rank0_out"]; }),
                  "rank0_gradin is missing");
    for (const char* name : {"rank2_in", "rank0_middle", "rank00_in", "rank0_in_x", "rank0_in_-1",
                             "rank-1_in", "in", "rank0_in_01", "rank_in", "rank99999999999_in"})
        check_problem(with([&](json& c) { c["tensors"][name] = c["tensors"]["rank0_in"]; }),
                      "is not the name of a tensor");
    check_problem(with([](json& c) { c["groups"] = json::parse("[[0]]"); }),
                  "rank1_in: the rank is in no group");
}

TEST_CASE("roots, lists and dicts") {
    const json base = with([](json& c) {
        c["op"] = "reduce";
        c["params"] = {{"dst", {1}}, {"reduce", "SUM"}};
        c["tensors"].erase("rank0_out");
    });
    CHECK(parse_manifest(manifest_of({base}), "m").cases[0].problem == "");
    json two = base;
    two["params"]["dst"] = {0, 1};
    check_problem(two, "2 ranks for 1 groups");
    json outside = base;
    outside["params"]["dst"] = {7};
    check_problem(outside, "rank 7 is not in group 0");

    const auto dict = [](const json& keys) {
        return with([&](json& c) {
            c["op"] = "all_reduce_dict";
            c["params"] = {{"keys", keys}, {"reduce", "MAX"}};
            for (auto& tensor : c["tensors"])
                tensor = {{"shape", {1}}, {"dtype", "F64"}};
        });
    };
    CHECK(parse_manifest(manifest_of({dict({{"k"}, {"l"}})}), "m").cases[0].problem == "");
    check_problem(dict({{"k"}}), "1 lists for 2 ranks");
    check_problem(dict(json::parse(R"([["k"], ["l", "m"]])")), "1 values for 2 keys");
}

TEST_CASE("later arguments are understood") {
    const json halo = with([](json& c) {
        c["op"] = "cp_halo_exchange";
        c["params"] = json::parse(R"({"halos": [{"dim": 1, "left": 2, "right": 0, "edge": "reflect"}],
                                      "strict": false})");
    });
    const Case item = parse_manifest(manifest_of({halo}), "m").cases[0];
    CHECK(item.problem == "");
    CHECK(item.params.halos->at(0).left == 2);
    CHECK(item.params.halos->at(0).edge == "reflect");
    CHECK(item.params.strict == false);
    json edge = halo;
    edge["params"]["halos"][0]["edge"] = "cliff";
    check_problem(edge, "\"cliff\" is not one of");
}

TEST_CASE("spellings for the command line") {
    CHECK(mode_on_command_line("GLOBAL") == "global");
    CHECK(mode_on_command_line("SEQUENCE_PARALLEL") == "sequence");
    CHECK(mode_on_command_line("sequence") == "sequence");
    CHECK(mode_on_command_line("DATA_PARALLEL+SEQUENCE_PARALLEL") == "data+sequence");
    CHECK(mode_on_command_line("INTRA_NODE") == "intra_node");

    const auto mesh = [](const std::string& label, const std::string& mode) {
        Case item;
        item.world = 4;
        item.mesh = label;
        item.mode = mode;
        return mesh_on_command_line(item);
    };
    CHECK(mesh("flat", "GLOBAL") == "data=4");
    CHECK(mesh("flat", "CONTEXT_PARALLEL") == "context=4");
    CHECK(mesh("data2xsequence2", "GLOBAL") == "data=2,sequence=2");
    CHECK(mesh("context2xexpert2", "GLOBAL") == "context=2,expert=2");
    CHECK(mesh("data=2,sequence=2", "GLOBAL") == "data=2,sequence=2");
    CHECK(mesh("odd", "GLOBAL") == "odd");
}
