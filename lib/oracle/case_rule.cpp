#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/oracle/compare.h>

#include "oracle/elements.h"

namespace plumb::oracle {

namespace {

/// The values of a dict in the order of its sorted keys, converted to the type they are reduced in.
Tensor sorted_values(const Tensor& values, const std::vector<std::string>& keys, DType dtype) {
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    const std::vector<double> numbers = values.to_vector<double>();
    Tensor out = Tensor::empty(values.shape(), dtype);
    std::byte* element = out.bytes();
    for (const std::size_t k : order) {
        if (dtype == DType::f64)
            store_real(dtype, element, numbers[k]);
        else
            store_real(dtype, element, static_cast<float>(numbers[k]));
        element += size_of(dtype);
    }
    return out;
}

/// The rows of a reduce_scatter input that position `position` of `n` receives the sum of.
Tensor own_rows(const Tensor& input, const Params& params, std::size_t position, std::size_t n) {
    if (!params.split) {
        const std::int64_t rows = input.extent(0) / static_cast<std::int64_t>(n);
        return input.narrow(0, static_cast<std::int64_t>(position) * rows, rows);
    }
    std::int64_t start = 0;
    for (std::size_t i = 0; i < position; ++i)
        start += (*params.split)[i];
    return input.narrow(0, start, (*params.split)[position]);
}

}  // namespace

Rule rule_for_out(const CaseSet& set, const Case& item, GlobalRank rank) {
    Rule rule;
    if (item.compare == CompareKind::exact) return rule;
    const auto number = item.group_of(rank);
    if (!number) throw ArgumentError(fmt::format("rank: {} is in no group of {}", rank.value, item.id));
    const auto& group = item.groups[*number];
    const auto position =
        static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());

    rule.kind = CompareKind::rounding;
    rule.magnitude = item.params.reduce == "PRODUCT" ? Rule::Magnitude::product : Rule::Magnitude::sum;
    rule.dtype = item.dtype;
    for (const GlobalRank member : group) {
        const Tensor input = set.tensor(item, member, Role::in);
        if (item.op == "all_reduce_dict")
            rule.inputs.push_back(sorted_values(
                input, (*item.params.keys)[static_cast<std::size_t>(member.value)], item.dtype));
        else if (item.op == "reduce_scatter")
            rule.inputs.push_back(own_rows(input, item.params, position, group.size()));
        else
            rule.inputs.push_back(input);
    }
    return rule;
}

}  // namespace plumb::oracle
