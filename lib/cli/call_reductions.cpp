#include <plumb/comm/all_reduce.h>
#include <plumb/comm/all_reduce_dict.h>
#include <plumb/comm/reduce.h>
#include <plumb/comm/reduce_scatter.h>

#include "cli/call_support.h"

namespace plumb::cli {

namespace {

ReduceOp reduce_op(const Call& call) {
    return reduce_op_from_name(*call.item.params.reduce);
}

Values all_reduce_forward(const Call& call, const Values& input) {
    const ReduceOp op = reduce_op(call);
    return perform(
        call, [&] { return all_reduce(input.tensor, op, call.group); },
        [&] { return all_reduce_async(input.tensor, op, call.group); });
}

bool is_dst(const Call& call) {
    return (*call.item.params.dst)[call.group_index] == call.rank();
}

Values reduce_forward(const Call& call, const Values& input) {
    const Root dst = root(call, call.item.params.dst);
    const ReduceOp op = reduce_op(call);
    const Tensor result = perform(
        call, [&] { return reduce(input.tensor, dst, op, call.group); },
        [&] { return reduce_async(input.tensor, dst, op, call.group); });
    return is_dst(call) ? result : Tensor();
}

Values reduce_scatter_forward(const Call& call, const Values& input) {
    const ReduceOp op = reduce_op(call);
    const Tensor& x = input.tensor;
    Shape shape = x.defined() ? x.shape() : Shape{0};
    if (shape.ndim() > 0) shape[0] /= call.group.size();
    return make_or_fill(
        call, oracle::Role::out, shape,
        [&](const auto&... out) { return reduce_scatter(out..., x, op, call.group); },
        [&](const auto&... out) { return reduce_scatter_async(out..., x, op, call.group); });
}

Values all_reduce_dict_forward(const Call& call, const Values& input) {
    const auto& params = call.item.params;
    const auto& keys = (*params.keys)[call.rank_index()];
    std::vector<double> numbers(keys.size());
    if (input.tensor.defined()) numbers = input.tensor.to_vector<double>();
    Dict dict;
    for (std::size_t k = 0; k < keys.size(); ++k)
        dict[keys[k]] = k < numbers.size() ? numbers[k] : 0;
    const KeyMatch match = key_match_from_name(params.key_match.value_or("by_position"));
    const ReduceOp op = reduce_op(call);
    const DType dtype = call.item.dtype;
    const Dict result = perform(
        call, [&] { return all_reduce_dict(dict, call.group, op, dtype, match); },
        [&] { return all_reduce_dict_async(dict, call.group, op, dtype, match); });
    Values values;
    numbers.clear();
    for (const auto& [key, number] : result) {
        values.keys.push_back(key);
        numbers.push_back(number);
    }
    values.tensor = Tensor::of({static_cast<std::int64_t>(numbers.size())}, numbers);
    return values;
}

}  // namespace

std::vector<Driver> reduction_drivers() {
    return {{"all_reduce", all_reduce_forward, nullptr, [](const Call&) { return true; }, {Target::fresh}},
            {"reduce", reduce_forward, nullptr, is_dst, {Target::fresh}},
            {"reduce_scatter", reduce_scatter_forward},
            {"all_reduce_dict", all_reduce_dict_forward, nullptr, nullptr, {Target::fresh}}};
}

}  // namespace plumb::cli
