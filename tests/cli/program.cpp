#include "cli/program.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

namespace plumb::test {

std::string quoted(const std::string& path) {
    return "'" + path + "'";
}

Ran run_plumb(const std::string& arguments, int ranks, const std::string& environment) {
    const Folder folder;
    std::string command = environment.empty() ? "" : "env " + environment + " ";
    command += "timeout --kill-after=5 120 ";
    if (ranks > 0) command += std::string(PLUMB_LAUNCH) + " " + std::to_string(ranks) + " ";
    command += quoted(PLUMB_PROGRAM) + " " + arguments + " >" + folder / "out" + " 2>" + folder / "err";
    const int status = std::system(command.c_str());
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.out = read_file(folder / "out");
    ran.err = read_file(folder / "err");
    return ran;
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++found;
    return found;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

void write_file(const std::filesystem::path& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

Folder::Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumb-cli-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace plumb::test
