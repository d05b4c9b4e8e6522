#include <doctest/doctest.h>

#include <filesystem>

#include "cli/case_folder.h"

using namespace plumb::test;

namespace {

const std::string kGather = "all_gather-w2-concat-2x3-f32-random";
const std::string kReduce = "all_reduce-w2-sum-2x3-i32-random";

/// Refused as a whole, by one message, whether the cases are run or only listed.
void check_refused(const std::string& folder, const std::string& says) {
    CAPTURE(folder);
    for (const int ranks : {0, 2}) {
        const Ran ran = run_plumb((ranks == 0 ? "replay --list " : "replay ") + folder, ranks);
        CHECK(ran.code == 2);
        CHECK(ran.out == "");
        CHECK_MESSAGE(count(ran.err, "plumb: ") == 1, ran.err);
        CHECK_MESSAGE(count(ran.err, says) >= 1, ran.err);
    }
}

}  // namespace

TEST_CASE("a folder that is not there, or has no manifest") {
    const Folder folder;
    check_refused(folder / "nowhere", "nowhere");
    check_refused(folder.path().string(), "manifest.json");
}

TEST_CASE("a manifest that is no JSON") {
    CaseFolder folder({kGather});
    folder.write();
    const std::string text = read_file(folder.path() + "/manifest.json");
    write_file(folder.path() + "/manifest.json", text.substr(0, text.size() / 2));
    check_refused(folder.path(), "manifest.json");
}

TEST_CASE("two cases of one name") {
    CaseFolder folder({kGather, kReduce});
    folder.entry(kReduce)["id"] = kGather;
    check_refused(folder.write(), kGather);
}

TEST_CASE("a truncated file of tensors") {
    CaseFolder folder({kGather});
    folder.write();
    const std::string path = folder.path() + "/data.safetensors";
    const std::string bytes = read_file(path);
    write_file(path, bytes.substr(0, bytes.size() - 4));
    check_refused(folder.path(), "data.safetensors");
    write_file(path, bytes.substr(0, 5));
    check_refused(folder.path(), "data.safetensors");
}

TEST_CASE("a tensor in two files, or in none") {
    CaseFolder folder({kGather});
    folder.write();
    std::filesystem::copy_file(folder.path() + "/data.safetensors", folder.path() + "/again.safetensors");
    check_refused(folder.path(), "rank0_in");
    std::filesystem::remove(folder.path() + "/again.safetensors");
    folder.tensors().erase(kGather + "/rank1_out");
    check_refused(folder.write(), "rank1_out");
}

TEST_CASE("a file that only one rank can read is refused by all") {
    CaseFolder folder({kGather});
    folder.write();
    // Each rank reads by a path of its own: the shell puts the launcher's rank into it.
    const std::string link = folder.path() + "/rank";
    std::filesystem::create_directory_symlink(folder.path(), link + "0");
    const std::string script = folder.path() + "/run.sh";
    write_file(script, "#!/bin/sh\nexec " PLUMB_PROGRAM " replay " + link +
                           "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK}}}\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const std::string err = folder.path() + "/err.txt";
    const int status = std::system(("timeout 60 " PLUMB_LAUNCH " 2 " + script + " 2>" + err).c_str());
    CHECK(status == 2 * 256);
    CHECK_MESSAGE(count(read_file(err), "plumb: rank 1: ") == 1, read_file(err));
}
