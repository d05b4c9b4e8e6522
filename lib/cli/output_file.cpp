#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/errors.h"

namespace plumb::cli {

namespace {

[[noreturn]] void refuse(const std::string& path, const char* why) {
    throw CannotRun(fmt::format("{}: cannot be written: {}", path, why));
}

/// What a file made by open() would have: mkstemp gives its owner alone access.
mode_t usual_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return static_cast<mode_t>(0666U & ~mask);
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), beside_(path_ + ".XXXXXX") {
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) refuse(path_, "it is a folder");
    descriptor_ = ::mkstemp(beside_.data());
    if (descriptor_ < 0) refuse(path_, std::strerror(errno));
    ::fchmod(descriptor_, usual_mode());
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
        ::unlink(beside_.c_str());
    }
}

void OutputFile::write(std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(descriptor_, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) refuse(path_, std::strerror(errno));
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::close(std::exchange(descriptor_, -1)) != 0 || std::rename(beside_.c_str(), path_.c_str()) != 0) {
        const int code = errno;
        ::unlink(beside_.c_str());
        refuse(path_, std::strerror(code));
    }
}

}  // namespace plumb::cli
