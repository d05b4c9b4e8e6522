#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace plumb::oracle {

/// Size of a regular file (symbolic links are followed). Throws FileError for anything else.
[[nodiscard]] std::uint64_t regular_file_size(const std::filesystem::path& path);

/// Bytes `offset` … `offset + size - 1`. Throws FileError when the file cannot be read or is shorter.
void read_bytes(const std::filesystem::path& path, std::uint64_t offset, char* out, std::uint64_t size);

/// The whole file. Throws FileError, also for more than `limit` bytes (before allocating anything).
[[nodiscard]] std::string read_text(const std::filesystem::path& path, std::uint64_t limit);

/// Text from a file made fit for a message: control and non-ASCII bytes as \xNN, cut at 120 bytes.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace plumb::oracle
