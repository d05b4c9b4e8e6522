#include <algorithm>

#include <fmt/format.h>

#include "oracle/params.h"

namespace plumb::oracle {

namespace {

bool has(const Case& item, GlobalRank rank, Role role, int k = kNoIndex) {
    return item.tensors.count(tensor_key(rank, role, k)) != 0;
}

/// Collects what a case must list, and says what it does not.
class Requirements {
  public:
    explicit Requirements(const Case& item) : item_(item) {}

    void need(GlobalRank rank, Role role, int k = kNoIndex) {
        if (problem_.empty() && !has(item_, rank, role, k))
            problem_ = fmt::format("tensors: {} is missing", tensor_key(rank, role, k));
    }
    void need_list(GlobalRank rank, Role role, std::size_t length) {
        for (std::size_t k = 0; k < length; ++k)
            need(rank, role, static_cast<int>(k));
    }
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  private:
    const Case& item_;
    std::string problem_;
};

/// Root of group `g`: a member, in a case that is to succeed.
std::string root_problem(const Case& item, const std::optional<std::vector<GlobalRank>>& roots,
                         const char* name) {
    if (!roots) return {};
    if (roots->size() != item.groups.size())
        return fmt::format("params.{}: {} ranks for {} groups", name, roots->size(), item.groups.size());
    for (std::size_t g = 0; g < roots->size() && item.expected != Expected::error; ++g) {
        const auto& group = item.groups[g];
        if (std::find(group.begin(), group.end(), (*roots)[g]) == group.end())
            return fmt::format("params.{}: rank {} is not in group {}", name, (*roots)[g].value, g);
    }
    return {};
}

std::string list_problem(const Case& item) {
    const auto world = static_cast<std::size_t>(item.world);
    const auto per_rank = [&](const auto& list, const char* name) -> std::string {
        if (!list || list->size() == world) return {};
        return fmt::format("params.{}: {} lists for {} ranks", name, list->size(), world);
    };
    const auto per_position = [&](const auto& list, const char* name) -> std::string {
        for (const auto& group : item.groups)
            if (list && list->size() != group.size() && item.expected != Expected::error)
                return fmt::format("params.{}: {} sizes for a group of {}", name, list->size(), group.size());
        return {};
    };
    const Params& p = item.params;
    for (const std::string& problem :
         {root_problem(item, p.src, "src"), root_problem(item, p.dst, "dst"), per_rank(p.keys, "keys"),
          per_rank(p.input_split, "input_split"), per_rank(p.output_split, "output_split"),
          per_position(p.split, "split"), per_position(p.scatter_split, "scatter_split"),
          per_position(p.gather_split, "gather_split")})
        if (!problem.empty()) return problem;
    if (!item.out_keys.empty() && item.out_keys.size() != world)
        return fmt::format("out_keys: {} lists for {} ranks", item.out_keys.size(), world);
    return {};
}

/// all_reduce_dict: one value per key.
std::string dict_problem(const Case& item) {
    for (const auto& [key, tensor] : item.tensors) {
        if (tensor.shape.ndim() != 1 || tensor.dtype != DType::f64)
            return fmt::format("tensors: {}: the values of a dict are F64 and have one dimension", key);
        const auto& keys = (*item.params.keys)[static_cast<std::size_t>(tensor.rank.value)];
        if (tensor.shape[0] != static_cast<std::int64_t>(keys.size()))
            return fmt::format("tensors: {}: {} values for {} keys", key, tensor.shape[0], keys.size());
    }
    return {};
}

std::string tensor_problem(const Case& item) {
    for (const auto& [key, tensor] : item.tensors)
        if (!item.group_of(tensor.rank)) return fmt::format("tensors: {}: the rank is in no group", key);
    if (item.expected == Expected::error) return {};

    const bool gradients =
        is_differentiable(item.op) &&
        std::any_of(item.tensors.begin(), item.tensors.end(), [](const auto& tensor) {
            return tensor.second.role == Role::grad_out || tensor.second.role == Role::grad_in;
        });
    const bool values = item.expected == Expected::values;
    Requirements required(item);
    for (std::size_t g = 0; g < item.groups.size(); ++g) {
        const auto& group = item.groups[g];
        for (const GlobalRank rank : group) {
            const bool root_only_input =
                item.op == "scatter_to_sequence_parallel_region" && *item.params.rank0_only;
            if (item.op == "scatter") {
                if (rank == (*item.params.src)[g]) required.need_list(rank, Role::in, group.size());
            } else if (!root_only_input || rank == group.front()) {
                required.need(rank, Role::in);
            }
            if (values && item.op == "gather") {
                if (rank == (*item.params.dst)[g]) required.need_list(rank, Role::out, group.size());
            } else if (values && (item.op != "reduce" || rank == (*item.params.dst)[g])) {
                required.need(rank, Role::out);
            }
            if (gradients) required.need(rank, Role::grad_out);
            if (gradients && values) required.need(rank, Role::grad_in);
        }
    }
    return required.problem();
}

}  // namespace

std::string find_problem(const Case& item) {
    if (std::string problem = list_problem(item); !problem.empty()) return problem;
    if (std::string problem = tensor_problem(item); !problem.empty()) return problem;
    if (item.op == "all_reduce_dict")
        if (std::string problem = dict_problem(item); !problem.empty()) return problem;
    if (item.expected == Expected::error && item.error.ranks.empty())
        return "error.ranks is empty: an error case says which ranks must report it";
    const bool rounds = item.params.reduce == "SUM" || item.params.reduce == "PRODUCT";
    if (item.compare == CompareKind::rounding &&
        (!rounds || is_integer(item.dtype) || item.dtype == DType::boolean))
        return "compare: \"rounding\" is for SUM and PRODUCT of floats";
    return {};
}

}  // namespace plumb::oracle
