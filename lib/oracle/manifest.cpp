#include <plumb/oracle/manifest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include <plumb/oracle/safetensors.h>

#include "oracle/file.h"
#include "oracle/json.h"
#include "oracle/params.h"

namespace plumb::oracle {

namespace {

constexpr std::pair<std::string_view, Role> kRoles[] = {
    {"in", Role::in}, {"out", Role::out}, {"gradout", Role::grad_out}, {"gradin", Role::grad_in}};

void note(Case& item, const std::string& problem) {
    if (item.problem.empty()) item.problem = problem;
}

std::string read_id(const JsonNode& node) {
    const JsonNode field = node.at("id");
    std::string id = field.text();
    const bool fits = !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               std::string_view("._+-").find(c) != std::string_view::npos;
    });
    if (!fits) field.fail(fmt::format("\"{}\" does not match [A-Za-z0-9._+-]+", printable(id)));
    return id;
}

std::vector<std::vector<GlobalRank>> read_groups(const JsonNode& node, int world) {
    std::vector<std::vector<GlobalRank>> groups;
    std::set<int> seen;
    for (const JsonNode& group : node.items()) {
        groups.emplace_back();
        for (const JsonNode& member : group.items()) {
            const auto rank = static_cast<int>(member.integer(0, world - 1));
            if (!seen.insert(rank).second) member.fail(fmt::format("rank {} is in a group already", rank));
            groups.back().emplace_back(rank);
        }
        if (groups.back().empty()) group.fail("a group without ranks");
    }
    if (groups.empty()) node.fail("no groups");
    return groups;
}

Shape read_shape(const JsonNode& node) {
    Shape shape;
    for (const JsonNode& extent : node.items()) {
        if (shape.ndim() == kMaxDims) node.fail(fmt::format("more than {} dimensions", kMaxDims));
        shape.push_back(extent.integer(0));
    }
    return shape;
}

std::vector<Shape> read_shapes(const JsonNode& node, int world) {
    std::vector<Shape> shapes;
    for (const JsonNode& shape : node.items())
        shapes.push_back(read_shape(shape));
    if (shapes.size() != static_cast<std::size_t>(world))
        node.fail(fmt::format("{} shapes for {} ranks", shapes.size(), world));
    return shapes;
}

/// "rank2_in_1" → rank, role, k. Nothing if it is no such name.
std::optional<TensorEntry> parse_tensor_key(const std::string& key) {
    if (key.rfind("rank", 0) != 0) return std::nullopt;
    TensorEntry entry;
    const char* const end = key.data() + key.size();
    const auto [after_rank, error] = std::from_chars(key.data() + 4, end, entry.rank.value);
    if (error != std::errc{} || after_rank == end || *after_rank != '_') return std::nullopt;
    std::string_view role(after_rank + 1, static_cast<std::size_t>(end - after_rank - 1));
    if (const auto bar = role.find('_'); bar != std::string_view::npos) {
        const auto [after_k, k_error] = std::from_chars(role.data() + bar + 1, end, entry.k);
        if (k_error != std::errc{} || after_k != end || entry.k < 0) return std::nullopt;
        role = role.substr(0, bar);
    }
    const auto known = std::find_if(std::begin(kRoles), std::end(kRoles),
                                    [&](const auto& candidate) { return candidate.first == role; });
    if (known == std::end(kRoles)) return std::nullopt;
    entry.role = known->second;
    if (tensor_key(entry.rank, entry.role, entry.k) != key) return std::nullopt;  // leading zeros
    return entry;
}

void read_tensors(const JsonNode& node, Case& item) {
    for (const auto& [key, value] : node.members()) {
        std::optional<TensorEntry> entry = parse_tensor_key(key);
        const std::string dtype = value.at("dtype").text();
        const Shape shape = read_shape(value.at("shape"));
        if (!entry || entry->rank.value < 0 || entry->rank.value >= item.world) {
            note(item, fmt::format("tensors: \"{}\" is not the name of a tensor of a rank", printable(key)));
            continue;
        }
        entry->shape = shape;
        try {
            entry->dtype = dtype_from_safetensors(dtype);
        } catch (const ArgumentError& error) {
            note(item, fmt::format("tensors.{}: {}", key, error.what()));
        }
        item.tensors.emplace(key, *entry);
    }
}

void read_expectation(const JsonNode& node, Case& item) {
    const std::string expected = node.at("expected").text();
    if (expected == "values") {
        item.expected = Expected::values;
    } else if (expected == "error") {
        item.expected = Expected::error;
    } else {
        item.expected = Expected::unknown;
        if (expected != "unknown")
            note(item, fmt::format("expected: unknown word \"{}\"", printable(expected)));
    }

    const auto compare = node.find("compare");
    const std::string rule = compare ? compare->text() : std::string();
    if (rule == "rounding") item.compare = CompareKind::rounding;
    if (item.expected == Expected::values && rule != "exact" && rule != "rounding")
        note(item, fmt::format("compare: \"exact\" or \"rounding\" expected, found \"{}\"", printable(rule)));

    if (item.expected != Expected::error) return;
    const JsonNode error = node.at("error");
    if (const auto reason = error.find("reason")) item.error.reason = reason->text();
    for (const JsonNode& rank : error.at("ranks").items())
        item.error.ranks.emplace_back(static_cast<int>(rank.integer(0, item.world - 1)));
    if (const auto phase = error.find("phase")) item.error.phase = phase->text();
    if (item.error.phase != "forward" && item.error.phase != "backward")
        note(item, fmt::format("error.phase: unknown word \"{}\"", printable(item.error.phase)));
}

void read_words(const JsonNode& node, Case& item) {
    item.op = node.at("op").text();
    if (!is_known_op(item.op)) note(item, fmt::format("op: unknown operation \"{}\"", printable(item.op)));
    if (const auto mesh = node.find("mesh")) item.mesh = mesh->text();
    if (const auto mode = node.find("mode")) item.mode = mode->text();
    if (const auto kind = node.find("kind")) item.kind = kind->text();
    if (const auto impl = node.find("impl")) item.impl = impl->text();
    if (!item.impl.empty() && item.impl != "p2p" && item.impl != "collective")
        note(item, fmt::format("impl: unknown word \"{}\"", printable(item.impl)));
    item.dtype_text = node.at("dtype").text();
    try {
        item.dtype = dtype_from_name(item.dtype_text);
    } catch (const ArgumentError&) {
        note(item, fmt::format("dtype: unknown dtype \"{}\"", printable(item.dtype_text)));
    }
}

Case read_case(const JsonNode& anonymous) {
    Case item;
    item.id = read_id(anonymous);
    const JsonNode node = anonymous.called(fmt::format("{} (\"{}\")", anonymous.place(), item.id));
    read_words(node, item);
    item.world = static_cast<int>(node.at("world").integer(1, kMaxWorld));
    item.groups = read_groups(node.at("groups"), item.world);
    if (const auto shapes = node.find("shapes")) item.shapes = read_shapes(*shapes, item.world);
    read_params(node.at("params"), item);
    read_expectation(node, item);
    read_tensors(node.at("tensors"), item);
    if (const auto keys = node.find("out_keys"))
        for (const JsonNode& list : keys->items()) {
            item.out_keys.emplace_back();
            for (const JsonNode& key : list.items())
                item.out_keys.back().push_back(key.text());
        }
    if (item.problem.empty()) item.problem = find_problem(item);
    return item;
}

std::map<std::string, std::string> read_files(const JsonNode& node) {
    std::map<std::string, std::string> files;
    for (const auto& [name, value] : node.members()) {
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
            value.fail("not the name of a file in the folder");
        std::string digest = value.text();
        std::transform(digest.begin(), digest.end(), digest.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (digest.size() != 64 || digest.find_first_not_of("0123456789abcdef") != std::string::npos)
            value.fail("64 hexadecimal digits expected");
        files[name] = digest;
    }
    return files;
}

}  // namespace

std::string tensor_key(GlobalRank rank, Role role, int k) {
    const auto word = std::find_if(std::begin(kRoles), std::end(kRoles),
                                   [&](const auto& candidate) { return candidate.second == role; });
    std::string key = fmt::format("rank{}_{}", rank.value, word->first);
    if (k != kNoIndex) key += fmt::format("_{}", k);
    return key;
}

std::optional<std::size_t> Case::group_of(GlobalRank rank) const {
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (std::find(groups[g].begin(), groups[g].end(), rank) != groups[g].end()) return g;
    return std::nullopt;
}

Manifest parse_manifest(std::string_view text, const std::string& name) {
    const nlohmann::json document = parse_json(text, name);
    const JsonNode root(document, name, "");
    const JsonNode version = root.at("format_version");
    if (version.integer() != kManifestVersion)
        version.fail(fmt::format("{} is not supported, only {} is", version.integer(), kManifestVersion));

    Manifest manifest;
    std::set<std::string> ids;
    for (const JsonNode& node : root.at("cases").items()) {
        manifest.cases.push_back(read_case(node));
        if (!ids.insert(manifest.cases.back().id).second)
            node.fail(fmt::format("id \"{}\" occurs twice", manifest.cases.back().id));
    }
    if (const auto files = root.find("files")) manifest.files = read_files(*files);
    return manifest;
}

Manifest read_manifest(const std::filesystem::path& path) {
    return parse_manifest(read_text(path, kMaxManifestBytes), path.string());
}

std::string mode_on_command_line(std::string_view mode) {
    std::string out;
    while (!mode.empty()) {
        const auto plus = mode.find('+');
        std::string axis(mode.substr(0, plus));
        mode = plus == std::string_view::npos ? std::string_view() : mode.substr(plus + 1);
        constexpr std::string_view kSuffix = "_PARALLEL";
        if (axis.size() > kSuffix.size() && axis.ends_with(kSuffix))
            axis.resize(axis.size() - kSuffix.size());
        std::transform(axis.begin(), axis.end(), axis.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        out += (out.empty() ? "" : "+") + axis;
    }
    return out;
}

std::string mesh_on_command_line(const Case& item) {
    if (item.mesh == "flat") {
        constexpr std::array<std::string_view, 6> kAxes = {"data",     "tensor",  "pipeline",
                                                           "sequence", "context", "expert"};
        const std::string mode = mode_on_command_line(item.mode);
        const bool is_axis = std::find(kAxes.begin(), kAxes.end(), mode) != kAxes.end();
        return fmt::format("{}={}", is_axis ? mode : "data", item.world);
    }
    if (item.mesh.find('=') != std::string::npos) return item.mesh;
    // The old form: name and size run together, joined by 'x', which a name may hold too ("context2").
    std::string out;
    for (std::size_t i = 0; i < item.mesh.size();) {
        std::size_t digits = i;
        while (digits < item.mesh.size() && !std::isdigit(static_cast<unsigned char>(item.mesh[digits])))
            ++digits;
        std::size_t end = digits;
        while (end < item.mesh.size() && std::isdigit(static_cast<unsigned char>(item.mesh[end])))
            ++end;
        if (digits == i || end == digits || (end < item.mesh.size() && item.mesh[end] != 'x'))
            return item.mesh;
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", item.mesh.substr(i, digits - i),
                           item.mesh.substr(digits, end - digits));
        i = end + 1;
    }
    return out;
}

}  // namespace plumb::oracle
