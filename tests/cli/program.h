#pragma once

#include <filesystem>
#include <string>

namespace plumb::test {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
    [[nodiscard]] std::string all() const { return out + err; }
};

/// Runs the program with arguments as a shell would split them, and under the launcher unless `ranks` is 0.
/// `environment` stands before the command: "PLUMB_CHECK=off".
Ran run_plumb(const std::string& arguments, int ranks = 0, const std::string& environment = "");

/// A path as one argument of run_plumb.
std::string quoted(const std::string& path);

/// How often `part` occurs in `text`.
int count(const std::string& text, const std::string& part);
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);

/// A fresh folder that is removed at the end.
class Folder {
  public:
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace plumb::test
