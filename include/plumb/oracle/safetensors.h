#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/tensor/tensor.h>

namespace plumb::oracle {

/// Most bytes a safetensors header may have (the format's own limit).
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

/// The format's spelling of an element type: "F32", "BF16", "F8_E4M3", "C128" (Plumb's extension), …
[[nodiscard]] std::string_view safetensors_name(DType dtype);
/// The other way round. Throws ArgumentError; a type of the format that Plumb has no DType for (U16, U32,
/// U64, the 4- and 6-bit floats, F8_E8M0) is said to be unsupported, any other is said to be unknown.
[[nodiscard]] DType dtype_from_safetensors(std::string_view text);

/// A .safetensors file, checked as a whole when opened: header length and nesting, duplicate names, types,
/// extents, offsets that tile the data section without hole, overlap or trailing byte. Only the header is
/// kept in memory; elements are read when asked for. Local, no communication.
class SafetensorsFile {
  public:
    struct Entry {
        std::string name;
        DType dtype = DType::f32;
        Shape shape;
        std::uint64_t begin = 0;  ///< byte offsets in the data section
        std::uint64_t end = 0;
    };

    /// Throws FileError that names the file and the place in it.
    static SafetensorsFile open(const std::filesystem::path& path);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// In the order of their data.
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
    /// `__metadata__`, empty where there is none.
    [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }
    /// Null where the file has no such tensor.
    [[nodiscard]] const Entry* find(std::string_view name) const;

    /// Fresh, contiguous host tensor. Throws FileError if there is no such tensor, the file has shrunk since
    /// it was opened, or a BOOL is neither 0 nor 1.
    [[nodiscard]] Tensor read(std::string_view name) const;
    [[nodiscard]] Tensor read(const Entry& entry) const;

  private:
    std::filesystem::path path_;
    std::uint64_t data_start_ = 0;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    std::map<std::string, std::string> metadata_;
};

struct NamedTensor {
    std::string name;
    Tensor tensor;
};

/// Writes host tensors (any strides) to `path`. The bytes depend on names, tensors and metadata only, not on
/// the order given: wide element types come first, then by name. Written beside the target and renamed, so
/// that `path` is either what it was or complete. Throws ArgumentError for an undefined tensor or a name that
/// is empty, repeated, reserved or not UTF-8; FileError when the file cannot be written.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace plumb::oracle
