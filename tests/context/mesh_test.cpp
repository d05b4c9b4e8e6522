#include <plumb/context/mesh.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/context/parallel_mode.h>
#include <plumb/core/error.h>

namespace {

using plumb::ArgumentError;
using plumb::Mesh;
using plumb::ParallelMode;

std::string message_of_mesh(const std::string& text) {
    try {
        const Mesh mesh(text);
    } catch (const ArgumentError& error) {
        return error.what();
    }
    return "no exception";
}

constexpr const char* kAllowed =
    "allowed is a list such as data=2,sequence=4 of different axes among data, tensor, pipeline, sequence, "
    "context, expert, with sizes >= 1";

TEST_CASE("a mesh from its text") {
    const Mesh mesh("data=2,sequence=4,context=1");
    const std::vector<Mesh::Axis> axes{
        {ParallelMode::data, 2}, {ParallelMode::sequence, 4}, {ParallelMode::context, 1}};
    CHECK(mesh.axes() == axes);
    CHECK(mesh.size() == 8);
    CHECK(mesh.extent(ParallelMode::data) == 2);
    CHECK(mesh.extent(ParallelMode::sequence) == 4);
    CHECK(mesh.extent(ParallelMode::context) == 1);
    CHECK(mesh.extent(ParallelMode::tensor) == 1);
    CHECK(mesh.has(ParallelMode::context));
    CHECK_FALSE(mesh.has(ParallelMode::tensor));
    CHECK_FALSE(mesh.has(ParallelMode::global));
    CHECK(mesh.to_string() == "data=2,sequence=4,context=1");
}

TEST_CASE("every axis, in any order, large sizes") {
    CHECK(Mesh("expert=2,context=3,sequence=1,pipeline=5,tensor=1,data=7").size() == 210);
    CHECK(Mesh("expert=2,tensor=3").to_string() == "expert=2,tensor=3");
    CHECK(Mesh("data=2147483647").size() == 2147483647);
    CHECK(Mesh("data=1").size() == 1);
}

TEST_CASE("texts that are no mesh") {
    const std::vector<std::pair<std::string, std::string>> table{
        {"", "mesh is '': '' is not axis=size; "},
        {"data", "mesh is 'data': 'data' is not axis=size; "},
        {"2", "mesh is '2': '2' is not axis=size; "},
        {",", "mesh is ',': '' is not axis=size; "},
        {"data=2,", "mesh is 'data=2,': '' is not axis=size; "},
        {",data=2", "mesh is ',data=2': '' is not axis=size; "},
        {"data=2,,tensor=2", "mesh is 'data=2,,tensor=2': '' is not axis=size; "},
        {"=2", "mesh is '=2': '' is not an axis; "},
        {"model=2", "mesh is 'model=2': 'model' is not an axis; "},
        {"Data=2", "mesh is 'Data=2': 'Data' is not an axis; "},
        {" data=2", "mesh is ' data=2': ' data' is not an axis; "},
        {"data=2, tensor=2", "mesh is 'data=2, tensor=2': ' tensor' is not an axis; "},
        {"global=2", "mesh is 'global=2': 'global' is not an axis; "},
        {"intra_node=2", "mesh is 'intra_node=2': 'intra_node' is not an axis; "},
        {"data+tensor=2", "mesh is 'data+tensor=2': 'data+tensor' is not an axis; "},
        {"DATA_PARALLEL=2", "mesh is 'DATA_PARALLEL=2': 'DATA_PARALLEL' is not an axis; "},
        {"data=", "mesh is 'data=': '' is not a size; "},
        {"data=0", "mesh is 'data=0': '0' is not a size; "},
        {"data=-2", "mesh is 'data=-2': '-2' is not a size; "},
        {"data=+2", "mesh is 'data=+2': '+2' is not a size; "},
        {"data=2.0", "mesh is 'data=2.0': '2.0' is not a size; "},
        {"data=2x", "mesh is 'data=2x': '2x' is not a size; "},
        {"data= 2", "mesh is 'data= 2': ' 2' is not a size; "},
        {"data=2 ", "mesh is 'data=2 ': '2 ' is not a size; "},
        {"data=0x2", "mesh is 'data=0x2': '0x2' is not a size; "},
        {"data==2", "mesh is 'data==2': '=2' is not a size; "},
        {"data=2=2", "mesh is 'data=2=2': '2=2' is not a size; "},
        {"data=2;tensor=2", "mesh is 'data=2;tensor=2': '2;tensor=2' is not a size; "},
        {"data=2147483648", "mesh is 'data=2147483648': '2147483648' is not a size; "},
        {"data=99999999999999999999",
         "mesh is 'data=99999999999999999999': '99999999999999999999' is not a size; "},
        {"data=2,data=2", "mesh is 'data=2,data=2': axis 'data' is named twice; "},
        {"data=2,tensor=1,data=1", "mesh is 'data=2,tensor=1,data=1': axis 'data' is named twice; "},
    };
    for (const auto& [text, message] : table) {
        CHECK(message_of_mesh(text) == message + kAllowed);
    }
    CHECK(message_of_mesh("data=65536,tensor=32768") ==
          "mesh is 'data=65536,tensor=32768': its product is beyond 2^31-1");
    CHECK(message_of_mesh("data=2147483647,tensor=2147483647,expert=2147483647") ==
          "mesh is 'data=2147483647,tensor=2147483647,expert=2147483647': its product is beyond 2^31-1");
}

TEST_CASE("a mesh from its axes") {
    CHECK(Mesh({{ParallelMode::tensor, 3}}).to_string() == "tensor=3");
    const auto message_of_axes = [](std::vector<Mesh::Axis> axes) -> std::string {
        try {
            const Mesh mesh(std::move(axes));
        } catch (const ArgumentError& error) {
            return error.what();
        }
        return "no exception";
    };
    CHECK(message_of_axes({}) == std::string("mesh has no axes; ") + kAllowed);
    CHECK(message_of_axes({{ParallelMode::data + ParallelMode::tensor, 2}}) ==
          std::string("mesh is 'data+tensor=2': 'data+tensor' is not an axis; ") + kAllowed);
    CHECK(message_of_axes({{ParallelMode::global, 2}}) ==
          std::string("mesh is 'global=2': 'global' is not an axis; ") + kAllowed);
    CHECK(message_of_axes({{ParallelMode::data, 0}}) ==
          std::string("mesh is 'data=0': a size is 0; ") + kAllowed);
    CHECK(message_of_axes({{ParallelMode::data, 2}, {ParallelMode::data, 2}}) ==
          std::string("mesh is 'data=2,data=2': axis 'data' is named twice; ") + kAllowed);
}

TEST_CASE("names of modes, both spellings") {
    const std::vector<std::tuple<ParallelMode, std::string, std::string>> table{
        {ParallelMode::global, "global", "GLOBAL"},
        {ParallelMode::data, "data", "DATA_PARALLEL"},
        {ParallelMode::tensor, "tensor", "TENSOR_PARALLEL"},
        {ParallelMode::pipeline, "pipeline", "PIPELINE_PARALLEL"},
        {ParallelMode::sequence, "sequence", "SEQUENCE_PARALLEL"},
        {ParallelMode::context, "context", "CONTEXT_PARALLEL"},
        {ParallelMode::expert, "expert", "EXPERT_PARALLEL"},
        {ParallelMode::intra_node, "intra_node", "INTRA_NODE"},
        {ParallelMode::inter_node, "inter_node", "INTER_NODE"},
        {ParallelMode::data + ParallelMode::sequence, "data+sequence", "DATA_PARALLEL+SEQUENCE_PARALLEL"},
        {ParallelMode::expert + ParallelMode::context + ParallelMode::tensor, "tensor+context+expert",
         "TENSOR_PARALLEL+CONTEXT_PARALLEL+EXPERT_PARALLEL"},
    };
    for (const auto& [mode, word, manifest] : table) {
        CHECK(to_string(mode) == word);
        CHECK(manifest_name(mode) == manifest);
        CHECK(plumb::parallel_mode_from_name(word) == mode);
        CHECK(plumb::parallel_mode_from_name(manifest) == mode);
    }
    CHECK(plumb::parallel_mode_from_name("sequence+data") == ParallelMode::data + ParallelMode::sequence);
    CHECK(plumb::parallel_mode_from_name("sequence+DATA_PARALLEL") ==
          ParallelMode::data + ParallelMode::sequence);
}

TEST_CASE("texts that are no mode") {
    for (const std::string text :
         {"", "Data", "data ", "+", "data+", "+data", "data++tensor", "data+data", "global+data",
          "data+global", "intra_node+inter_node", "model", "data,tensor"}) {
        std::string message = "no exception";
        try {
            static_cast<void>(plumb::parallel_mode_from_name(text));
        } catch (const ArgumentError& error) {
            message = error.what();
        }
        CHECK(message ==
              "mode is '" + text +
                  "', allowed are global, data, tensor, pipeline, sequence, context, expert, intra_node, "
                  "inter_node, unions of different axes such as data+sequence, and the manifest spellings "
                  "such as "
                  "SEQUENCE_PARALLEL");
    }
}

TEST_CASE("modes contain modes") {
    constexpr auto both = ParallelMode::data + ParallelMode::sequence;
    static_assert(contains(both, ParallelMode::data) && contains(both, ParallelMode::sequence));
    static_assert(contains(both, both) && !contains(ParallelMode::data, both));
    static_assert(!contains(both, ParallelMode::tensor));
    CHECK(contains(both, ParallelMode::data));
}

}  // namespace
