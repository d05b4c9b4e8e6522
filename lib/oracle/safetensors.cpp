#include <plumb/oracle/safetensors.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "oracle/file.h"
#include "oracle/json.h"

namespace plumb::oracle {

static_assert(std::endian::native == std::endian::little, "safetensors data is little endian");

namespace {

constexpr std::uint64_t kLengthBytes = 8;

constexpr std::pair<std::string_view, DType> kNames[] = {
    {"BOOL", DType::boolean},      {"U8", DType::u8},          {"I8", DType::i8},   {"I16", DType::i16},
    {"I32", DType::i32},           {"I64", DType::i64},        {"F16", DType::f16}, {"BF16", DType::bf16},
    {"F32", DType::f32},           {"F64", DType::f64},        {"C64", DType::c64}, {"C128", DType::c128},
    {"F8_E4M3", DType::f8_e4m3fn}, {"F8_E5M2", DType::f8_e5m2}};

constexpr std::string_view kUnsupported[] = {"U16",     "U32",     "U64",         "F4",         "F6_E2M3",
                                             "F6_E3M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};

/// Bytes of a tensor, with every step checked.
std::uint64_t checked_bytes(const JsonNode& node, const Shape& shape, DType dtype) {
    std::uint64_t bytes = size_of(dtype);
    bool overflow = false;
    bool is_empty = false;
    for (const std::int64_t extent : shape) {
        is_empty = is_empty || extent == 0;
        if (extent != 0) overflow = overflow || bytes > INT64_MAX / static_cast<std::uint64_t>(extent);
        if (!overflow && extent != 0) bytes *= static_cast<std::uint64_t>(extent);
    }
    if (overflow) node.fail(fmt::format("shape {} has more bytes than 2^63-1", to_string(shape)));
    return is_empty ? 0 : bytes;
}

SafetensorsFile::Entry read_entry(const std::string& name, const JsonNode& node) {
    SafetensorsFile::Entry entry;
    entry.name = name;
    const JsonNode dtype = node.at("dtype");
    try {
        entry.dtype = dtype_from_safetensors(dtype.text());
    } catch (const ArgumentError& error) {
        dtype.fail(error.what());
    }
    const JsonNode shape = node.at("shape");
    for (const JsonNode& extent : shape.items()) {
        if (entry.shape.ndim() == kMaxDims) shape.fail(fmt::format("more than {} dimensions", kMaxDims));
        entry.shape.push_back(extent.integer(0));
    }
    const JsonNode offsets = node.at("data_offsets");
    const std::vector<JsonNode> ends = offsets.items();
    if (ends.size() != 2) offsets.fail(fmt::format("two offsets expected, found {}", ends.size()));
    entry.begin = static_cast<std::uint64_t>(ends[0].integer(0));
    entry.end = static_cast<std::uint64_t>(ends[1].integer(0));
    if (entry.end < entry.begin)
        offsets.fail(fmt::format("[{}, {}] ends before it begins", entry.begin, entry.end));
    const std::uint64_t bytes = checked_bytes(node, entry.shape, entry.dtype);
    if (entry.end - entry.begin != bytes)
        offsets.fail(fmt::format("[{}, {}] holds {} bytes, shape {} of {} needs {}", entry.begin, entry.end,
                                 entry.end - entry.begin, to_string(entry.shape), dtype.text(), bytes));
    return entry;
}

/// In the order of their data the tensors must follow one another from 0 to the end of the file.
void check_tiling(const std::string& file, const std::vector<SafetensorsFile::Entry>& entries,
                  std::uint64_t data_bytes) {
    std::uint64_t next = 0;
    for (const auto& entry : entries) {
        const std::string name = printable(entry.name);
        if (entry.end > data_bytes)
            throw FileError(
                fmt::format("{}: {}: data_offsets [{}, {}] reach beyond the {} bytes of data the file has",
                            file, name, entry.begin, entry.end, data_bytes));
        if (entry.begin < next)
            throw FileError(
                fmt::format("{}: {}: data_offsets [{}, {}] overlap the tensor before, which ends at {}", file,
                            name, entry.begin, entry.end, next));
        if (entry.begin > next)
            throw FileError(fmt::format("{}: {}: data_offsets [{}, {}] leave a hole after byte {}", file,
                                        name, entry.begin, entry.end, next));
        next = entry.end;
    }
    if (next != data_bytes)
        throw FileError(
            fmt::format("{}: the tensors end at byte {} of the data, the file at {}: trailing bytes", file,
                        next, data_bytes));
}

std::string read_header(const std::filesystem::path& path, std::uint64_t file_size) {
    const std::string file = path.string();
    if (file_size < kLengthBytes)
        throw FileError(fmt::format("{}: {} bytes, too short for the 8-byte header length", file, file_size));
    std::uint64_t length = 0;
    read_bytes(path, 0, reinterpret_cast<char*>(&length), kLengthBytes);
    if (length > kMaxSafetensorsHeader)
        throw FileError(
            fmt::format("{}: header length {} exceeds the limit of {}", file, length, kMaxSafetensorsHeader));
    if (length > file_size - kLengthBytes)
        throw FileError(fmt::format("{}: header length {} exceeds the {} bytes that follow: truncated", file,
                                    length, file_size - kLengthBytes));
    std::string header(length, '\0');
    read_bytes(path, kLengthBytes, header.data(), length);
    if (header.empty() || header.front() != '{')
        throw FileError(fmt::format("{}: the header does not begin with '{{'", file));
    return header;
}

}  // namespace

std::string_view safetensors_name(DType dtype) {
    for (const auto& [text, candidate] : kNames)
        if (candidate == dtype) return text;
    return "?";
}

DType dtype_from_safetensors(std::string_view text) {
    for (const auto& [candidate, dtype] : kNames)
        if (candidate == text) return dtype;
    if (std::find(std::begin(kUnsupported), std::end(kUnsupported), text) != std::end(kUnsupported))
        throw ArgumentError(fmt::format("element type {} is not supported", text));
    std::string allowed;
    for (const auto& name : kNames)
        allowed += (allowed.empty() ? "" : ", ") + std::string(name.first);
    throw ArgumentError(fmt::format("unknown element type \"{}\" (allowed: {})", printable(text), allowed));
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
    const std::uint64_t file_size = regular_file_size(path);
    const std::string header = read_header(path, file_size);
    const nlohmann::json document = parse_json(header, path.string());

    SafetensorsFile out;
    out.path_ = path;
    out.data_start_ = kLengthBytes + header.size();
    for (const auto& [name, node] : JsonNode(document, path.string(), "").members()) {
        if (name == "__metadata__")
            for (const auto& [key, value] : node.members())
                out.metadata_[key] = value.text();
        else if (name.empty())
            node.fail("a tensor without a name");
        else
            out.entries_.push_back(read_entry(name, node));
    }
    std::sort(out.entries_.begin(), out.entries_.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    check_tiling(path.string(), out.entries_, file_size - out.data_start_);
    for (std::size_t i = 0; i < out.entries_.size(); ++i)
        out.by_name_[out.entries_[i].name] = i;
    return out;
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &entries_[found->second];
}

Tensor SafetensorsFile::read(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr)
        throw FileError(fmt::format("{}: there is no tensor \"{}\"", path_.string(), printable(name)));
    return read(*entry);
}

Tensor SafetensorsFile::read(const Entry& entry) const {
    Tensor tensor = Tensor::empty(entry.shape, entry.dtype);
    const std::uint64_t bytes = entry.end - entry.begin;
    if (bytes == 0) return tensor;
    read_bytes(path_, data_start_ + entry.begin, reinterpret_cast<char*>(tensor.bytes()), bytes);
    if (entry.dtype == DType::boolean) {
        const std::byte* bad = std::find_if(tensor.bytes(), tensor.bytes() + bytes,
                                            [](std::byte b) { return b > std::byte{1}; });
        if (bad != tensor.bytes() + bytes)
            throw FileError(fmt::format("{}: {}: element {} of a BOOL tensor is {}, neither 0 nor 1",
                                        path_.string(), printable(entry.name), bad - tensor.bytes(),
                                        std::to_integer<int>(*bad)));
    }
    return tensor;
}

}  // namespace plumb::oracle
