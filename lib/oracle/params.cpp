#include "oracle/params.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "oracle/file.h"

namespace plumb::oracle {

namespace {

using Words = std::vector<std::string>;

struct OpRule {
    bool differentiable;
    Words required;
    Words optional;
};

/// Every op takes these, since they do not change its result.
const Words kCommon = {"async_op", "layout"};

const std::map<std::string, OpRule>& op_rules() {
    static const std::map<std::string, OpRule> rules = {
        {"scatter", {false, {"src"}, {"scatter_list_ranks", "list_len", "list_dtype", "list_shape"}}},
        {"gather", {false, {"dst"}, {"gather_list_ranks", "list_len", "list_dtype", "list_shape"}}},
        {"broadcast", {false, {"src"}, {}}},
        {"all_gather", {false, {"form"}, {"out_shape", "out_dtype"}}},
        {"all_reduce", {false, {"reduce"}, {"order", "accumulate"}}},
        {"reduce", {false, {"reduce", "dst"}, {"order", "accumulate"}}},
        {"reduce_scatter", {false, {"reduce"}, {"order", "accumulate", "split", "out_shape", "out_dtype"}}},
        {"all_reduce_dict", {false, {"reduce", "keys"}, {"key_match", "order", "accumulate"}}},
        {"all_to_all_single", {false, {}, {"input_split", "output_split", "out_shape", "out_dtype"}}},
        {"all_to_all", {true, {"gather_dim", "scatter_dim"}, {"scatter_split", "gather_split"}}},
        {"scatter_to_sequence_parallel_region",
         {true, {"rank0_only"}, {"dim", "split", "grad_mode", "output_grad"}}},
        {"gather_from_sequence_parallel_region",
         {true, {"rank0_only"}, {"dim", "split", "grad_mode", "output_grad"}}},
        {"cp_halo_exchange", {true, {}, {"left_size", "right_size", "dim", "edge", "strict", "halos"}}},
    };
    return rules;
}

bool contains(const Words& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// The first problem of a case is the one reported.
void note(Case& item, const std::string& problem) {
    if (item.problem.empty()) item.problem = problem;
}

std::optional<std::string> read_word(const JsonNode& node, Case& item, const Words& allowed) {
    const std::string word = node.text();
    if (contains(allowed, word)) return word;
    note(item,
         fmt::format("{}: \"{}\" is not one of {}", node.place(), printable(word), fmt::join(allowed, ", ")));
    return std::nullopt;
}

std::optional<DType> read_dtype(const JsonNode& node, Case& item) {
    try {
        return dtype_from_name(node.text());
    } catch (const ArgumentError&) {
        note(item, fmt::format("{}: unknown dtype \"{}\"", node.place(), printable(node.text())));
        return std::nullopt;
    }
}

std::vector<GlobalRank> read_ranks(const JsonNode& node) {
    std::vector<GlobalRank> ranks;
    for (const JsonNode& rank : node.items())
        ranks.emplace_back(rank.small_integer());
    return ranks;
}

std::vector<std::int64_t> read_integers(const JsonNode& node) {
    std::vector<std::int64_t> numbers;
    for (const JsonNode& number : node.items())
        numbers.push_back(number.integer());
    return numbers;
}

std::vector<std::vector<std::int64_t>> read_integer_lists(const JsonNode& node) {
    std::vector<std::vector<std::int64_t>> lists;
    for (const JsonNode& list : node.items())
        lists.push_back(read_integers(list));
    return lists;
}

std::vector<std::vector<std::string>> read_keys(const JsonNode& node) {
    std::vector<std::vector<std::string>> keys;
    for (const JsonNode& list : node.items()) {
        keys.emplace_back();
        for (const JsonNode& key : list.items())
            keys.back().push_back(key.text());
    }
    return keys;
}

Shape read_params_shape(const JsonNode& node) {
    Shape shape;
    for (const JsonNode& extent : node.items()) {
        if (shape.ndim() == kMaxDims) node.fail(fmt::format("more than {} dimensions", kMaxDims));
        shape.push_back(extent.integer(0));
    }
    return shape;
}

const Words kEdges = {"zero", "periodic", "replicate", "reflect", "none"};

std::vector<HaloDim> read_halos(const JsonNode& node, Case& item) {
    std::vector<HaloDim> halos;
    for (const JsonNode& entry : node.items()) {
        HaloDim halo{entry.at("dim").integer(), entry.at("left").integer(), entry.at("right").integer(),
                     "zero"};
        if (const auto edge = entry.find("edge"))
            if (const auto word = read_word(*edge, item, kEdges)) halo.edge = *word;
        for (const auto& [key, value] : entry.members())
            if (!contains({"dim", "left", "right", "edge"}, key))
                note(item, fmt::format("{}: unknown key", value.place()));
        halos.push_back(halo);
    }
    return halos;
}

using Reader = std::function<void(const JsonNode&, Case&)>;

Reader word(std::optional<std::string> Params::*member, Words allowed) {
    return [member, allowed = std::move(allowed)](const JsonNode& node, Case& item) {
        item.params.*member = read_word(node, item, allowed);
    };
}
Reader flag(std::optional<bool> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = node.boolean(); };
}
Reader number(std::optional<std::int64_t> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = node.integer(); };
}
Reader ranks(std::optional<std::vector<GlobalRank>> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = read_ranks(node); };
}
Reader numbers(std::optional<std::vector<std::int64_t>> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = read_integers(node); };
}
Reader number_lists(std::optional<std::vector<std::vector<std::int64_t>>> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = read_integer_lists(node); };
}
Reader shape(std::optional<Shape> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = read_params_shape(node); };
}
Reader dtype(std::optional<DType> Params::*member) {
    return [member](const JsonNode& node, Case& item) { item.params.*member = read_dtype(node, item); };
}

const std::map<std::string, Reader>& readers() {
    using P = Params;
    static const std::map<std::string, Reader> table = {
        {"src", ranks(&P::src)},
        {"dst", ranks(&P::dst)},
        {"scatter_list_ranks", ranks(&P::scatter_list_ranks)},
        {"gather_list_ranks", ranks(&P::gather_list_ranks)},
        {"async_op", flag(&P::async_op)},
        {"layout", word(&P::layout, {"transposed"})},
        {"list_len", number(&P::list_len)},
        {"list_dtype", dtype(&P::list_dtype)},
        {"list_shape", shape(&P::list_shape)},
        {"out_shape", shape(&P::out_shape)},
        {"out_dtype", dtype(&P::out_dtype)},
        {"form", word(&P::form, {"concat", "stack"})},
        {"reduce", word(&P::reduce, {"SUM", "PRODUCT", "MIN", "MAX", "AVG", "BAND", "BOR", "BXOR"})},
        {"order", word(&P::order, {"fast", "ordered", "exact"})},
        {"accumulate", word(&P::accumulate, {"f32", "storage"})},
        {"keys", [](const JsonNode& node, Case& item) { item.params.keys = read_keys(node); }},
        {"key_match", word(&P::key_match, {"strict", "by_position"})},
        {"gather_dim", number(&P::gather_dim)},
        {"scatter_dim", number(&P::scatter_dim)},
        {"split", numbers(&P::split)},
        {"scatter_split", numbers(&P::scatter_split)},
        {"gather_split", numbers(&P::gather_split)},
        {"input_split", number_lists(&P::input_split)},
        {"output_split", number_lists(&P::output_split)},
        {"rank0_only", flag(&P::rank0_only)},
        {"dim", number(&P::dim)},
        {"grad_mode", word(&P::grad_mode, {"replica_mean", "adjoint", "megatron"})},
        {"output_grad", word(&P::output_grad, {"partial", "replicated"})},
        {"left_size", number(&P::left_size)},
        {"right_size", number(&P::right_size)},
        {"edge", word(&P::edge, kEdges)},
        {"strict", flag(&P::strict)},
        {"halos", [](const JsonNode& node, Case& item) { item.params.halos = read_halos(node, item); }},
    };
    return table;
}

}  // namespace

bool is_known_op(const std::string& op) {
    return op_rules().count(op) != 0;
}

bool is_differentiable(const std::string& op) {
    const auto rule = op_rules().find(op);
    return rule != op_rules().end() && rule->second.differentiable;
}

void read_params(const JsonNode& node, Case& item) {
    const auto rule = op_rules().find(item.op);
    for (const auto& [key, value] : node.members()) {
        const auto reader = readers().find(key);
        if (reader == readers().end()) {
            note(item, fmt::format("params.{}: unknown key", printable(key)));
            continue;
        }
        if (rule != op_rules().end() && !contains(rule->second.required, key) &&
            !contains(rule->second.optional, key) && !contains(kCommon, key))
            note(item, fmt::format("params.{}: {} takes no such argument", key, item.op));
        if (node.find(key)) reader->second(value, item);
    }
    if (rule == op_rules().end()) return;
    Words required = rule->second.required;
    if (item.op == "cp_halo_exchange" && !node.find("halos")) required = {"left_size", "right_size", "dim"};
    for (const std::string& key : required)
        if (!node.find(key)) note(item, fmt::format("params.{} is missing", key));
}

}  // namespace plumb::oracle
