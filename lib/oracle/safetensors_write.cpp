#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/oracle/safetensors.h>

#include "oracle/file.h"
#include "oracle/json.h"

namespace plumb::oracle {

namespace {

std::string quoted(const std::string& text) {
    try {
        return nlohmann::json(text).dump();
    } catch (const nlohmann::json::exception&) {
        throw ArgumentError(fmt::format("\"{}\" is not UTF-8", printable(text)));
    }
}

/// Wide elements first, so that each tensor's data is aligned to its element size in the file.
std::vector<const NamedTensor*> in_file_order(const std::vector<NamedTensor>& tensors) {
    std::vector<const NamedTensor*> order;
    for (const NamedTensor& item : tensors) {
        if (item.name.empty() || item.name == "__metadata__")
            throw ArgumentError(fmt::format("name: \"{}\" cannot name a tensor", item.name));
        if (!item.tensor.defined())
            throw ArgumentError(fmt::format("tensor \"{}\" is undefined", printable(item.name)));
        if (item.tensor.space() != MemorySpace::host)
            throw ArgumentError(fmt::format("tensor \"{}\" is not in host memory", printable(item.name)));
        order.push_back(&item);
    }
    std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
        const std::size_t width_a = size_of(a->tensor.dtype());
        const std::size_t width_b = size_of(b->tensor.dtype());
        return width_a != width_b ? width_a > width_b : a->name < b->name;
    });
    return order;
}

void check_unique(std::vector<const NamedTensor*> tensors) {
    const auto by_name = [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; };
    std::sort(tensors.begin(), tensors.end(), by_name);
    for (std::size_t i = 1; i < tensors.size(); ++i)
        if (tensors[i - 1]->name == tensors[i]->name)
            throw ArgumentError(fmt::format("name: \"{}\" is given twice", printable(tensors[i]->name)));
}

std::string make_header(const std::vector<const NamedTensor*>& tensors,
                        const std::map<std::string, std::string>& metadata) {
    std::string header = "{";
    if (!metadata.empty()) {
        header += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata)
            header += (header.back() == '{' ? "" : ",") + quoted(key) + ":" + quoted(value);
        header += "}";
    }
    std::size_t offset = 0;
    for (const NamedTensor* item : tensors) {
        const Tensor& tensor = item->tensor;
        const std::size_t end = offset + tensor.view().bytes();
        header += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                              header.size() == 1 ? "" : ",", quoted(item->name),
                              safetensors_name(tensor.dtype()), fmt::join(tensor.shape(), ","), offset, end);
        offset = end;
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return header;
}

/// Removes the half-written file unless it was put in place.
class TemporaryFile {
  public:
    explicit TemporaryFile(const std::filesystem::path& target)
        : target_(target), path_(fmt::format("{}.writing-{}", target.string(), ::getpid())) {}
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        if (!placed_) std::filesystem::remove(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    void put_in_place() {
        std::error_code error;
        std::filesystem::rename(path_, target_, error);
        if (error)
            throw FileError(fmt::format("{}: cannot be written: {}", target_.string(), error.message()));
        placed_ = true;
    }

  private:
    std::filesystem::path target_;
    std::filesystem::path path_;
    bool placed_ = false;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
    const std::vector<const NamedTensor*> order = in_file_order(tensors);
    check_unique(order);
    const std::string header = make_header(order, metadata);
    if (header.size() > kMaxSafetensorsHeader)
        throw ArgumentError(fmt::format("tensors: the header would have {} bytes, at most {} are allowed",
                                        header.size(), kMaxSafetensorsHeader));

    TemporaryFile temporary(path);
    std::ofstream file(temporary.path(), std::ios::binary | std::ios::trunc);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const NamedTensor* item : order) {
        const Tensor tensor = item->tensor.contiguous();
        file.write(reinterpret_cast<const char*>(tensor.bytes()),
                   static_cast<std::streamsize>(tensor.view().bytes()));
    }
    file.close();
    if (!file) throw FileError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
    temporary.put_in_place();
}

}  // namespace plumb::oracle
