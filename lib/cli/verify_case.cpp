#include "cli/verify_case.h"

#include <algorithm>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/oracle/adjoint.h>
#include <plumb/oracle/reference_case.h>

namespace plumb::cli {

namespace {

using oracle::kNoIndex;
using oracle::Role;

/// Rows that position i sends to position j where the parts are uneven; none at times.
std::int64_t rows(int i, int j) {
    return (i + 2 * j) % 3;
}

int index_of(std::int64_t dim, int ndim) {
    return static_cast<int>(dim < 0 ? dim + ndim : dim);
}

std::vector<std::string> keys_of(Twist twist, int position, std::int64_t entries) {
    std::vector<std::string> keys;
    for (std::int64_t k = 0; k < entries; ++k) {
        const std::int64_t shifted = (k + position) % entries;
        keys.push_back(twist == Twist::other_names ? fmt::format("{}r{}", shifted, position)
                                                   : fmt::format("key{}", shifted));
    }
    return keys;
}

/// Whether the reference has gradients for the dtype.
bool has_gradient(const Driver& driver, DType dtype) {
    if (driver.backward == nullptr) return false;
    if (driver.op == "all_to_all") return true;
    return is_floating(dtype) || is_complex(dtype);
}

}  // namespace

VerifyCase::VerifyCase(const VerifySpec& spec, const Group& group, int world, std::uint64_t seed)
    : spec_(spec), group_(group), key_(sub_key(seed, digest_of(spec.id))) {
    set_arguments(world);
    add_inputs();
    add_results(Role::out);
    const bool adjoint = spec.property == Property::adjoint;
    if (!adjoint && !has_gradient(*spec.driver, spec.dtype)) return;
    const auto forward = item_.tensors;
    for (const auto& [key, entry] : forward)
        if (entry.role == Role::out)
            add_input(entry.rank, Role::grad_out, kNoIndex, entry.shape, entry.dtype);
    if (!adjoint) {
        add_results(Role::grad_in);
        return;
    }
    for (const auto& [key, entry] : forward)
        if (entry.role == Role::in)
            item_.tensors.insert_or_assign(
                oracle::tensor_key(entry.rank, Role::grad_in),
                oracle::TensorEntry{entry.rank, Role::grad_in, kNoIndex, entry.shape, entry.dtype});
}

void VerifyCase::set_arguments(int world) {
    const Variant& variant = spec_.variant;
    const auto ranks = group_.ranks();
    item_.id = spec_.id;
    item_.op = spec_.driver->op;
    item_.world = world;
    item_.groups.emplace_back(ranks.begin(), ranks.end());
    item_.params = variant.params;
    item_.dtype = spec_.dtype;
    item_.impl = variant.impl;
    item_.shapes.resize(static_cast<std::size_t>(world));
    const std::vector<GlobalRank> root = {variant.root == RootPlace::first ? ranks.front() : ranks.back()};
    if (item_.op == "scatter" || item_.op == "broadcast") item_.params.src = root;
    if (item_.op == "gather" || item_.op == "reduce") item_.params.dst = root;
    const int n = group_.size();
    const auto per_rank = [&](auto value) {
        std::vector<decltype(value(0))> list(static_cast<std::size_t>(world));
        for (int i = 0; i < n; ++i)
            list[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)].value)] = value(i);
        return list;
    };
    if (item_.op == "all_reduce_dict") {
        item_.params.keys = per_rank([&](int i) { return keys_of(variant.twist, i, variant.shape[0]); });
        item_.out_keys = *item_.params.keys;
        for (auto& keys : item_.out_keys)
            std::sort(keys.begin(), keys.end());
    }
    if (item_.op == "all_to_all_single" && variant.twist == Twist::uneven) {
        const auto split = [&](bool sent) {
            return per_rank([&, sent](int i) {
                std::vector<std::int64_t> sizes;
                for (int j = 0; j < n; ++j)
                    sizes.push_back(sent ? rows(i, j) : rows(j, i));
                return sizes;
            });
        };
        item_.params.input_split = split(true);
        item_.params.output_split = split(false);
    }
}

Shape VerifyCase::input_shape(int position) const {
    const Variant& variant = spec_.variant;
    const Shape& base = variant.shape;
    const auto& params = item_.params;
    const std::int64_t n = group_.size();
    const auto times = [&](std::int64_t dim) {
        const int d = index_of(dim, base.ndim());
        return base.with(d, base[d] * n);
    };
    if (item_.op == "reduce_scatter") return times(0);
    if (item_.op == "all_to_all") return times(*params.scatter_dim);
    if (item_.op == "scatter_to_sequence_parallel_region") return times(params.dim.value_or(1));
    if (item_.op == "all_to_all_single") {
        if (variant.twist != Twist::uneven) return times(0);
        std::int64_t sum = 0;
        for (int j = 0; j < group_.size(); ++j)
            sum += rows(position, j);
        return base.with(0, sum);
    }
    if (item_.op == "cp_halo_exchange" && variant.twist == Twist::uneven) {
        const int d = index_of(*params.dim, base.ndim());
        return base.with(d, base[d] + position % 3);
    }
    return base;
}

void VerifyCase::add_input(GlobalRank rank, Role role, int k, const Shape& shape, DType dtype) {
    const std::uint64_t key =
        sub_key(sub_key(key_, static_cast<std::uint64_t>(rank.value)),
                (role == Role::in ? 0U : 1U << 20U) + static_cast<std::uint64_t>(k - kNoIndex));
    const bool repeats = spec_.layout == Layout::expanded && shape.ndim() > 0 && shape[0] > 0;
    Tensor tensor = draw_tensor(key, repeats ? shape.with(0, 1) : shape, dtype, spec_.data);
    if (repeats) tensor = tensor.expand(shape).clone();
    const std::string name = oracle::tensor_key(rank, role, k);
    item_.tensors.insert_or_assign(name, oracle::TensorEntry{rank, role, k, shape, dtype});
    tensors_.insert_or_assign(name, tensor);
}

void VerifyCase::add_inputs() {
    const auto ranks = group_.ranks();
    const bool dict = item_.op == "all_reduce_dict";
    for (int i = 0; i < group_.size(); ++i) {
        const GlobalRank rank = ranks[static_cast<std::size_t>(i)];
        const Shape shape = input_shape(i);
        item_.shapes[static_cast<std::size_t>(rank.value)] = shape;
        if (item_.op == "scatter") {
            for (int k = 0; k < group_.size() && rank == item_.params.src->front(); ++k)
                add_input(rank, Role::in, k, shape, spec_.dtype);
        } else if (spec_.variant.twist != Twist::absent || i == 0) {
            add_input(rank, Role::in, kNoIndex, shape, dict ? DType::f64 : spec_.dtype);
        }
    }
}

void VerifyCase::add_results(Role role) {
    oracle::Case item = item_;
    item.params.key_match.reset();  // where names are the same, both matches give the same
    const auto source = [this](GlobalRank rank, Role from, int k) { return tensor(rank, from, k); };
    for (auto& [key, result] : oracle::reference::run_case(item, source)) {
        for (const GlobalRank rank : group_.ranks())
            for (int k = kNoIndex; k < group_.size(); ++k)
                if (key == oracle::tensor_key(rank, role, k)) {
                    item_.tensors.insert_or_assign(
                        key, oracle::TensorEntry{rank, role, k, result.shape(), result.dtype()});
                    tensors_.insert_or_assign(key, result);
                }
    }
}

namespace {

/// What `action` throws is a finding.
template <class Action>
void attempt(GlobalRank rank, RankOutcome& outcome, Action&& action) {
    try {
        action();
    } catch (const TimeoutError& error) {
        outcome.timed_out = true;
        outcome.wrong(rank, "", error.what());
    } catch (const std::exception& error) {
        outcome.wrong(rank, "", error.what());
    }
}

RankOutcome run_check(const VerifySpec& spec, const Group& group, std::uint64_t seed) {
    RankOutcome outcome;
    attempt(group.global_rank(group.rank()), outcome,
            [&] { spec.check(spec, group, sub_key(seed, digest_of(spec.id)), outcome); });
    return outcome;
}

RankOutcome run_adjoint(const VerifySpec& spec, const Group& group, const VerifyCase& made) {
    const GlobalRank rank = group.global_rank(group.rank());
    RankOutcome outcome;
    const Placed x = Placed::holding(made.tensor(rank, Role::in, kNoIndex), spec.layout);
    const Placed y = Placed::holding(made.tensor(rank, Role::grad_out, kNoIndex), spec.layout);
    const Call call{made.item(), 0, group, spec.timing, spec.target, [&](const Shape& shape, DType dtype) {
                        return Placed::blank(shape, dtype, spec.output_layout).tensor();
                    }};
    attempt(rank, outcome, [&] {
        const auto test = oracle::test_adjoint(
            group, x.tensor(), y.tensor(),
            [&](const Tensor& input) { return spec.driver->forward(call, input).tensor; },
            [&](const Tensor& grad) { return spec.driver->backward(call, grad); });
        if (!test.ok())
            outcome.wrong(
                rank, "",
                fmt::format("backward is not the adjoint of forward: <f(x), y> is {}, <x, f'(y)> is {}",
                            test.forward, test.backward));
    });
    return outcome;
}

}  // namespace

RankOutcome run_verify_case(const VerifySpec& spec, const Group& group, int world, std::uint64_t seed) {
    if (spec.check != nullptr) return run_check(spec, group, seed);
    const VerifyCase made(spec, group, world, seed);
    if (spec.property == Property::adjoint) return run_adjoint(spec, group, made);
    const GlobalRank rank = group.global_rank(group.rank());
    const Subject subject{made.item(),
                          *spec.driver,
                          0,
                          group,
                          [&](Role role, int k) { return made.tensor(rank, role, k); },
                          [] { return oracle::Rule{}; },
                          spec.layout,
                          spec.output_layout,
                          spec.timing,
                          {spec.target}};
    return run_values(subject, [](bool mine, std::uint64_t) { return mine; });
}

}  // namespace plumb::cli
