#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <plumb/core/error.h>
#include <plumb/oracle/case_set.h>

#include "oracle/sha256.h"
#include "oracle/temporary_folder.h"

using namespace plumb;
using namespace plumb::oracle;
using nlohmann::json;

namespace {

json broadcast_case() {
    return json::parse(
        R"({"id": "b.1", "op": "broadcast", "world": 1, "groups": [[0]], "params": {"src": [0]},
        "dtype": "float32", "expected": "values", "compare": "exact", "tensors": {
        "rank0_in": {"shape": [2], "dtype": "F32"}, "rank0_out": {"shape": [2], "dtype": "F32"}}})");
}

const Tensor kValues = Tensor::of<float>({2}, {1.0F, 2.0F});

struct Folder {
    TemporaryFolder folder;
    json manifest = {{"format_version", 1}, {"cases", json::array({broadcast_case()})}};

    void tensors(const std::string& file, const std::vector<NamedTensor>& content) const {
        write_safetensors(folder.path() / file, content);
    }
    CaseSet load() const {
        folder.write("manifest.json", manifest.dump());
        return CaseSet::load(folder.path());
    }
    std::string refusal() const {
        try {
            (void)load();
        } catch (const FileError& error) {
            return error.what();
        }
        return "";
    }
};

bool says(const std::string& message, const std::string& part) {
    CAPTURE(message);
    return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tensors are found in whichever file holds them") {
    Folder set;
    set.tensors("rank0.safetensors", {{"b.1/rank0_out", kValues}});
    set.tensors("anything.safetensors", {{"b.1/rank0_in", kValues}});
    set.folder.write("notes.txt", "not looked at");
    const CaseSet loaded = set.load();
    const Case* item = loaded.find("b.1");
    REQUIRE(item != nullptr);
    CHECK(loaded.find("b.2") == nullptr);
    CHECK(loaded.tensor(*item, GlobalRank(0), Role::out).to_vector<float>() ==
          std::vector<float>{1.0F, 2.0F});
    CHECK(CaseSet::has(*item, GlobalRank(0), Role::in));
    CHECK_FALSE(CaseSet::has(*item, GlobalRank(0), Role::in, 0));
    CHECK_FALSE(CaseSet::has(*item, GlobalRank(0), Role::grad_in));
    CHECK_THROWS_AS((void)loaded.tensor(*item, GlobalRank(1), Role::out), FileError);
    CHECK(loaded.list(*item, GlobalRank(0), Role::in).empty());
}

TEST_CASE("what the manifest says and the files hold must agree") {
    Folder set;
    CHECK(says(set.refusal(), "\"b.1/rank0_in\" of the manifest is in no file"));
    set.tensors("a.safetensors", {{"b.1/rank0_in", kValues}});
    CHECK(says(set.refusal(), "\"b.1/rank0_out\" of the manifest is in no file"));
    set.tensors("b.safetensors", {{"b.1/rank0_out", kValues.narrow(0, 0, 1)}});
    CHECK(says(set.refusal(), "is F32 [1], the manifest says F32 [2]"));
    set.tensors("b.safetensors", {{"b.1/rank0_out", Tensor::zeros({2}, DType::i32)}});
    CHECK(says(set.refusal(), "is I32 [2], the manifest says F32 [2]"));
    set.tensors("b.safetensors", {{"b.1/rank0_out", kValues}});
    CHECK(set.refusal() == "");
    set.tensors("c.safetensors", {{"b.1/rank0_out", kValues}});
    CHECK(says(set.refusal(), "tensor \"b.1/rank0_out\" is in b.safetensors too"));
    for (const char* name : {"b.1/rank1_out", "b.2/rank0_out", "stray", "b.1/rank0_out/x", "/"}) {
        set.tensors("c.safetensors", {{name, kValues}});
        CHECK(says(set.refusal(), "belongs to no case"));
    }
    set.folder.write("c.safetensors", "rubbish");
    CHECK(says(set.refusal(), "c.safetensors: "));
}

TEST_CASE("a case with a problem does not spoil the set") {
    Folder set;
    set.manifest["cases"][0]["op"] = "unheard_of";
    set.tensors("a.safetensors", {{"b.1/rank0_in", kValues}, {"b.1/rank0_strange", kValues}});
    const CaseSet loaded = set.load();
    CHECK(says(loaded.cases().at(0).problem, "unheard_of"));
}

TEST_CASE("digests are checked where the manifest gives them") {
    Folder set;
    set.tensors("a.safetensors", {{"b.1/rank0_in", kValues}, {"b.1/rank0_out", kValues}});
    set.manifest["files"]["a.safetensors"] = sha256_of_file(set.folder.path() / "a.safetensors");
    CHECK(set.refusal() == "");
    set.manifest["files"]["a.safetensors"] = std::string(64, '0');
    CHECK(says(set.refusal(), "a.safetensors: sha256 is "));
    set.manifest["files"] = {{"gone.safetensors", std::string(64, '0')}};
    CHECK(says(set.refusal(), "gone.safetensors: there is no such file"));
}

TEST_CASE("a folder without a manifest") {
    const TemporaryFolder folder;
    CHECK_THROWS_AS((void)CaseSet::load(folder.path()), FileError);
    CHECK_THROWS_AS((void)CaseSet::load(folder.path() / "nowhere"), FileError);
}
