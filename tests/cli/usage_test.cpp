#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/case_folder.h"
#include "cli/program.h"

using namespace plumb::test;

TEST_CASE("wrong usage is exit code 2, with a message that names it") {
    struct Wrong {
        std::string arguments;
        std::string says;
    };
    for (const Wrong& wrong :
         {Wrong{"", "A subcommand is required"},
          Wrong{"bogus", "there is no command 'bogus', allowed are info, replay, verify"},
          Wrong{"info --bogus", "--bogus"}, Wrong{"replay", "DIR"}, Wrong{"verify --cases 0", "--cases"},
          Wrong{"verify --seed many", "--seed"},
          Wrong{"verify --op bogus", "--op is 'bogus', allowed are scatter"},
          Wrong{"verify --dtype f31", "f31"}, Wrong{"verify --mesh data", "'data' is not axis=size"},
          Wrong{"verify --mesh data=2", "whose product is 2, but there are 1 ranks"},
          Wrong{"info --mesh data=2", "whose product is 2, but there are 1 ranks"},
          Wrong{"replay --list --json x DIR", "--json"},
          Wrong{"verify --memory cuda", "this build has no such memory, it has host"},
          Wrong{"verify --memory paper", "paper"},
          Wrong{"replay --memory sim x", "this build has no such memory, it has host"},
          Wrong{"verify --transport shm", "this build has no such transport, it has mpi"},
          Wrong{"verify --device-transport staged", "no device memory"}}) {
        CAPTURE(wrong.arguments);
        const Ran ran = run_plumb(wrong.arguments);
        CHECK(ran.code == 2);
        CHECK(ran.out == "");
        CHECK_MESSAGE(count(ran.err, wrong.says) > 0, ran.err);
    }
}

TEST_CASE("an environment variable with a value that is not allowed is exit code 2") {
    const Ran ran = run_plumb("info", 0, "PLUMB_CHECK=perhaps");
    CHECK(ran.code == 2);
    CHECK(count(ran.err, "PLUMB_CHECK is 'perhaps', allowed are off, local, agree") == 1);
}

TEST_CASE("under the launcher the message stands once, and the code is the same") {
    for (const char* arguments :
         {"bogus", "verify --op bogus", "verify --mesh data=7", "replay /no/such/folder"}) {
        CAPTURE(arguments);
        const Ran ran = run_plumb(arguments, 3);
        CHECK(ran.code == 2);
        CHECK(count(ran.err, "plumb: ") == 1);
    }
}

TEST_CASE("--version and --help") {
    const Ran version = run_plumb("--version");
    CHECK(version.code == 0);
    CHECK(version.out == "plumb " PLUMB_PROJECT_VERSION "\n");
    const Ran help = run_plumb("--help", 2);
    CHECK(help.code == 0);
    for (const char* word : {"info", "replay", "verify", "PLUMB_TIMEOUT", "Exit codes"})
        CHECK(count(help.out, word) > 0);
    CHECK(count(help.out, "Exit codes") == 1);
    CHECK(run_plumb("replay --help").code == 0);
}

TEST_CASE("what needs no MPI never starts it") {
    // A setting with which MPI cannot start; where the MPI library does not know it, there is nothing to see.
    const std::string broken = "OMPI_MCA_pml=none";
    if (run_plumb("info", 0, broken).code == 0) return;
    for (const std::string& arguments :
         {std::string("--help"), std::string("--version"), std::string("verify --list --cases 5"),
          "replay --list " + quoted(golden())}) {
        CAPTURE(arguments);
        CHECK(run_plumb(arguments, 0, broken).code == 0);
    }
}

TEST_CASE("a file that cannot be written is found before the work starts") {
    const Folder folder;
    for (const std::string& path : {folder / "no/such/folder/x", folder.path().string()}) {
        for (const std::string option : {"--json ", "--junit "}) {
            const Ran ran = run_plumb("verify --cases 5 " + option + path, 2);
            CHECK(ran.code == 2);
            CHECK(ran.out == "");
            CHECK(count(ran.err, path + ": cannot be written") == 1);
        }
    }
}
