#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include <unistd.h>

#include "cli/errors.h"
#include "cli/output_file.h"

using plumb::cli::CannotRun;
using plumb::cli::OutputFile;

namespace {

struct Folder {
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "plumb-output-XXXXXX").string();
        path = ::mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    [[nodiscard]] auto entries() const {
        return std::distance(std::filesystem::directory_iterator(path),
                             std::filesystem::directory_iterator());
    }
    std::filesystem::path path;
};

std::string content(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("a file appears whole, and leaves nothing beside it") {
    const Folder folder;
    const auto path = folder.path / "file";
    std::ofstream(path) << "old";
    {
        OutputFile file(path.string());
        CHECK(content(path) == "old");
        file.write("new");
    }
    CHECK(content(path) == "new");
    CHECK(folder.entries() == 1);
}

TEST_CASE("what is not finished is removed") {
    const Folder folder;
    {
        std::optional<OutputFile> file((folder.path / "file").string());
        CHECK(folder.entries() == 1);
    }
    CHECK(folder.entries() == 0);
}

TEST_CASE("where no file can be, it is said at once") {
    const Folder folder;
    CHECK_THROWS_AS(OutputFile(folder.path.string()), CannotRun);
    CHECK_THROWS_AS(OutputFile((folder.path / "no" / "file").string()), CannotRun);
}
