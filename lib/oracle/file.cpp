#include "oracle/file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::oracle {

namespace fs = std::filesystem;

std::uint64_t regular_file_size(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        throw FileError(fmt::format("{}: there is no such file", path.string()));
    if (error) throw FileError(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
    if (!fs::is_regular_file(status)) throw FileError(fmt::format("{}: not a regular file", path.string()));
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) throw FileError(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
    return size;
}

void read_bytes(const fs::path& path, std::uint64_t offset, char* out, std::uint64_t size) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw FileError(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(out, static_cast<std::streamsize>(size));
    if (!file || static_cast<std::uint64_t>(file.gcount()) != size)
        throw FileError(fmt::format("{}: bytes {} to {} cannot be read, the file may have been cut short",
                                    path.string(), offset, offset + size));
}

std::string read_text(const fs::path& path, std::uint64_t limit) {
    const std::uint64_t size = regular_file_size(path);
    if (size > limit)
        throw FileError(fmt::format("{}: {} bytes, at most {} are allowed", path.string(), size, limit));
    std::string text(size, '\0');
    read_bytes(path, 0, text.data(), size);
    return text;
}

std::string printable(std::string_view text) {
    constexpr std::size_t kLongest = 120;
    std::string out;
    for (const char c : text.substr(0, kLongest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    if (text.size() > kLongest) out += "…";
    return out;
}

}  // namespace plumb::oracle
