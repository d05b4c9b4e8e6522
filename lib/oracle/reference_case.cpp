#include <plumb/oracle/reference_case.h>

#include <algorithm>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/oracle/reference.h>

#include "oracle/elements.h"

namespace plumb::oracle::reference {

namespace {

using Group = std::vector<GlobalRank>;

/// One group of one case: reads its inputs, puts its results.
class GroupRun {
  public:
    GroupRun(const Case& item, std::size_t group, const TensorSource& source,
             std::map<std::string, Tensor>& results)
        : item_(item), group_(item.groups[group]), number_(group), source_(source), results_(results) {}

    void forward();
    void backward();

  private:
    [[nodiscard]] bool has(GlobalRank rank, Role role, int k = kNoIndex) const {
        return item_.tensors.count(tensor_key(rank, role, k)) != 0;
    }
    [[nodiscard]] PerRank read(Role role) const {
        PerRank tensors;
        for (const GlobalRank rank : group_)
            tensors.push_back(has(rank, role) ? source_(rank, role, kNoIndex) : Tensor());
        return tensors;
    }
    [[nodiscard]] std::vector<Tensor> read_list(GlobalRank rank) const {
        std::vector<Tensor> list;
        for (int k = 0; has(rank, Role::in, k); ++k)
            list.push_back(source_(rank, Role::in, k));
        return list;
    }
    void put(Role role, const PerRank& tensors) {
        for (std::size_t i = 0; i < group_.size(); ++i)
            results_.insert_or_assign(tensor_key(group_[i], role), tensors[i]);
    }
    /// The group's root, which must be a member.
    [[nodiscard]] GlobalRank root(const std::optional<std::vector<GlobalRank>>& roots) const {
        const GlobalRank rank = (*roots)[number_];
        if (std::find(group_.begin(), group_.end(), rank) == group_.end())
            throw ArgumentError(fmt::format("root: rank {} is not in the group", rank.value));
        return rank;
    }
    [[nodiscard]] GroupRank position(GlobalRank rank) const {
        return GroupRank(static_cast<int>(std::find(group_.begin(), group_.end(), rank) - group_.begin()));
    }
    [[nodiscard]] std::vector<std::vector<std::int64_t>> of_group(
        const std::vector<std::vector<std::int64_t>>& per_rank) const {
        std::vector<std::vector<std::int64_t>> lists;
        for (const GlobalRank rank : group_)
            lists.push_back(per_rank[static_cast<std::size_t>(rank.value)]);
        return lists;
    }
    [[nodiscard]] Reduction reduction() const { return reduction_from_name(*item_.params.reduce); }
    [[nodiscard]] Source region_source() const {
        return *item_.params.rank0_only ? Source::rank0 : Source::own;
    }
    [[nodiscard]] std::int64_t region_dim() const { return item_.params.dim.value_or(1); }
    [[nodiscard]] std::vector<std::int64_t> extents(Role role, std::int64_t dim) const;

    void collective();
    void dict();

    const Case& item_;
    const Group& group_;
    std::size_t number_;
    const TensorSource& source_;
    std::map<std::string, Tensor>& results_;
};

/// Extents of the group's tensors along `dim`; empty where a tensor has no such dimension.
std::vector<std::int64_t> GroupRun::extents(Role role, std::int64_t dim) const {
    std::vector<std::int64_t> out;
    for (const GlobalRank rank : group_) {
        const Shape& shape = item_.tensors.at(tensor_key(rank, role)).shape;
        const std::int64_t d = dim < 0 ? dim + shape.ndim() : dim;
        if (d < 0 || d >= shape.ndim()) return {};
        out.push_back(shape[static_cast<int>(d)]);
    }
    return out;
}

void GroupRun::dict() {
    std::vector<Dict> in;
    for (const GlobalRank rank : group_) {
        const std::vector<double> values = source_(rank, Role::in, kNoIndex).to_vector<double>();
        const auto& keys = (*item_.params.keys)[static_cast<std::size_t>(rank.value)];
        Dict dict;
        for (std::size_t k = 0; k < keys.size(); ++k)
            dict.emplace_back(keys[k], values[k]);
        in.push_back(dict);
    }
    PerRank out;
    for (const Dict& dict : all_reduce_dict(in, reduction(), item_.dtype)) {
        std::vector<double> values;
        for (const auto& entry : dict)
            values.push_back(entry.second);
        out.push_back(Tensor::of({static_cast<std::int64_t>(values.size())}, values));
    }
    put(Role::out, out);
}

void GroupRun::collective() {
    const Params& p = item_.params;
    if (item_.op == "scatter") {
        const std::vector<Tensor> list = read_list(root(p.src));
        if (list.size() != group_.size())
            throw ArgumentError(fmt::format("list: {} tensors for {} ranks", list.size(), group_.size()));
        put(Role::out, scatter(list));
    } else if (item_.op == "gather") {
        const GlobalRank dst = root(p.dst);
        const std::vector<Tensor> list = gather(read(Role::in));
        for (std::size_t k = 0; k < list.size(); ++k)
            results_.insert_or_assign(tensor_key(dst, Role::out, static_cast<int>(k)), list[k]);
    } else if (item_.op == "broadcast") {
        const GlobalRank src = root(p.src);
        put(Role::out, broadcast(read(Role::in), position(src)));
    } else if (item_.op == "all_gather") {
        put(Role::out, all_gather(read(Role::in), *p.form == "stack" ? Form::stack : Form::concat));
    } else if (item_.op == "all_reduce") {
        put(Role::out, all_reduce(read(Role::in), reduction()));
    } else if (item_.op == "reduce") {
        const GlobalRank dst = root(p.dst);
        results_.insert_or_assign(tensor_key(dst, Role::out), reduce(read(Role::in), reduction()));
    } else if (item_.op == "reduce_scatter") {
        const PerRank in = read(Role::in);
        put(Role::out, p.split ? reduce_scatter(in, reduction(), *p.split) : reduce_scatter(in, reduction()));
    } else if (item_.op == "all_to_all_single") {
        const PerRank in = read(Role::in);
        if (p.input_split.has_value() != p.output_split.has_value())
            throw ArgumentError("input_split, output_split: one is given without the other");
        put(Role::out, p.input_split
                           ? all_to_all_single(in, of_group(*p.input_split), of_group(*p.output_split))
                           : all_to_all_single(in));
    } else {
        throw ArgumentError(fmt::format("op: the reference does not know \"{}\"", item_.op));
    }
}

void GroupRun::forward() {
    const Params& p = item_.params;
    if (item_.op == "all_reduce_dict")
        dict();
    else if (item_.op == "all_to_all")
        put(Role::out, all_to_all(read(Role::in), *p.gather_dim, *p.scatter_dim));
    else if (item_.op == "scatter_to_sequence_parallel_region")
        put(Role::out, scatter_to_sequence_parallel_region(read(Role::in), region_source(), region_dim()));
    else if (item_.op == "gather_from_sequence_parallel_region")
        put(Role::out, gather_from_sequence_parallel_region(read(Role::in), region_dim()));
    else if (item_.op == "cp_halo_exchange")
        put(Role::out, cp_halo_exchange(read(Role::in), *p.left_size, *p.right_size, *p.dim));
    else
        collective();
}

void GroupRun::backward() {
    const Params& p = item_.params;
    for (const GlobalRank rank : group_)
        if (!has(rank, Role::grad_out)) return;
    const PerRank grads = read(Role::grad_out);
    if (item_.op == "all_to_all")
        put(Role::grad_in, all_to_all_backward(grads, *p.gather_dim, *p.scatter_dim));
    else if (item_.op == "scatter_to_sequence_parallel_region")
        put(Role::grad_in, scatter_to_sequence_parallel_region_backward(grads, region_dim()));
    else if (item_.op == "gather_from_sequence_parallel_region")
        put(Role::grad_in, gather_from_sequence_parallel_region_backward(grads, region_source(), region_dim(),
                                                                         extents(Role::in, region_dim())));
    else if (item_.op == "cp_halo_exchange")
        put(Role::grad_in, cp_halo_exchange_backward(grads, *p.left_size, *p.right_size, *p.dim));
    else
        throw ArgumentError(fmt::format("gradout: {} has no gradient", item_.op));
}

/// Arguments whose values change the result and that the reference does not compute.
void refuse_unknown(const Case& item) {
    const Params& p = item.params;
    const auto refuse = [](const char* what) {
        throw ArgumentError(fmt::format("params.{}: the reference does not compute this yet", what));
    };
    if (p.order && *p.order != "ordered") refuse("order");
    if (p.accumulate && *p.accumulate != "f32") refuse("accumulate");
    if (p.key_match && *p.key_match != "by_position") refuse("key_match");
    if (p.scatter_split) refuse("scatter_split");
    if (p.gather_split) refuse("gather_split");
    if (p.split && item.op != "reduce_scatter") refuse("split");
    if (p.grad_mode && *p.grad_mode != "replica_mean") refuse("grad_mode");
    if (p.edge && *p.edge != "zero") refuse("edge");
    if (p.strict && !*p.strict) refuse("strict");
    if (p.halos) refuse("halos");
}

}  // namespace

std::map<std::string, Tensor> run_case(const Case& item, const TensorSource& source) {
    if (!item.problem.empty()) throw ArgumentError(item.problem);
    refuse_unknown(item);
    std::map<std::string, Tensor> results;
    for (std::size_t group = 0; group < item.groups.size(); ++group) {
        GroupRun run(item, group, source, results);
        run.forward();
        run.backward();
    }
    return results;
}

}  // namespace plumb::oracle::reference
