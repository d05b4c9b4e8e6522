#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plumb::cli {

/// A file that appears whole or not at all: written beside its place, and renamed at the end. Move-only; what
/// was not finished is removed.
class OutputFile {
  public:
    /// Throws CannotRun if a file cannot be made there.
    explicit OutputFile(std::string path);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    /// Once. Throws CannotRun if it cannot be written.
    void write(std::string_view content);

  private:
    std::string path_;
    std::string beside_;
    int descriptor_ = -1;
};

}  // namespace plumb::cli
