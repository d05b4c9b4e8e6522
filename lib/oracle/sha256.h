#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumb::oracle {

/// SHA-256 (FIPS 180-4), fed piece by piece.
class Sha256 {
  public:
    void update(std::string_view bytes);
    /// 64 lower-case hex digits. Ends the computation.
    [[nodiscard]] std::string finish();

  private:
    void block(const unsigned char* bytes);

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, 64> pending_{};
    std::uint64_t length_ = 0;
};

/// Of a whole file. Throws FileError.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace plumb::oracle
