#include <plumb/comm/all_gather.h>
#include <plumb/comm/all_to_all_single.h>
#include <plumb/comm/broadcast.h>
#include <plumb/comm/gather.h>
#include <plumb/comm/scatter.h>

#include "cli/call_support.h"

namespace plumb::cli {

namespace {

using oracle::Role;
using List = std::optional<std::vector<Tensor>>;
using Ranks = std::optional<std::vector<GlobalRank>>;

/// Whether this rank passes a list: as the case says, else on the root alone.
bool passes_list(const Call& call, const Ranks& list_ranks, const Ranks& roots) {
    if (!list_ranks) return (*roots)[call.group_index] == call.rank();
    return std::find(list_ranks->begin(), list_ranks->end(), call.rank()) != list_ranks->end();
}

/// This rank's tensor shape, as the case gives it for every rank.
Shape local_shape(const Call& call) {
    return call.item.shapes.empty() ? Shape{} : call.item.shapes[call.rank_index()];
}

/// n tensors of the rank's own shape, but for what a faulty call changes.
std::vector<Tensor> make_list(const Call& call, const Shape& shape) {
    const auto& params = call.item.params;
    const std::int64_t length = params.list_len.value_or(call.group.size());
    std::vector<Tensor> list;
    for (std::int64_t k = 0; k < length; ++k)
        list.push_back(
            call.make(params.list_shape.value_or(shape), params.list_dtype.value_or(call.item.dtype)));
    return list;
}

Values scatter_forward(const Call& call, const Values& input) {
    const auto& params = call.item.params;
    const Tensor output = make_output(call, Role::out, local_shape(call));
    List list;
    if (passes_list(call, params.scatter_list_ranks, params.src))
        list = input.list.empty() ? make_list(call, output.shape()) : input.list;
    const Root src = root(call, params.src);
    return perform(
        call, [&] { return scatter(output, list, src, call.group); },
        [&] { return scatter_async(output, list, src, call.group); });
}

Values gather_forward(const Call& call, const Values& input) {
    const auto& params = call.item.params;
    const Tensor& x = input.tensor;
    const Root dst = root(call, params.dst);
    if (call.target == Target::fresh)
        return perform(
            call, [&] { return gather(x, dst, call.group); },
            [&] { return gather_async(x, dst, call.group); });
    List list;
    if (passes_list(call, params.gather_list_ranks, params.dst))
        list = make_list(call, x.defined() ? x.shape() : local_shape(call));
    return perform(
        call, [&] { return gather(x, list, dst, call.group); },
        [&] { return gather_async(x, list, dst, call.group); });
}

Values broadcast_forward(const Call& call, const Values& input) {
    const Root src = root(call, call.item.params.src);
    return perform(
        call, [&] { return broadcast(input.tensor, src, call.group); },
        [&] { return broadcast_async(input.tensor, src, call.group); });
}

bool broadcast_writes(const Call& call) {
    return (*call.item.params.src)[call.group_index] != call.rank();
}

Shape gathered(const Call& call, const Shape& shape) {
    const bool joined = *call.item.params.form == "concat";
    Shape result{call.group.size()};
    if (joined && shape.ndim() > 0) result[0] *= shape[0];
    for (int d = joined ? 1 : 0; d < shape.ndim(); ++d)
        result.push_back(shape[d]);
    return result;
}

Values all_gather_forward(const Call& call, const Values& input) {
    const Tensor& x = input.tensor;
    const Shape shape = gathered(call, x.defined() ? x.shape() : local_shape(call));
    if (*call.item.params.form == "stack")
        return make_or_fill(
            call, Role::out, shape,
            [&](const auto&... out) { return all_gather_stacked(out..., x, call.group); },
            [&](const auto&... out) { return all_gather_stacked_async(out..., x, call.group); });
    return make_or_fill(
        call, Role::out, shape, [&](const auto&... out) { return all_gather(out..., x, call.group); },
        [&](const auto&... out) { return all_gather_async(out..., x, call.group); });
}

Values all_to_all_single_forward(const Call& call, const Values& input) {
    const auto& params = call.item.params;
    const Tensor& x = input.tensor;
    const Shape shape = x.defined() ? x.shape() : local_shape(call);
    using Lists = std::optional<std::vector<std::vector<std::int64_t>>>;
    using Split = std::optional<std::vector<std::int64_t>>;
    const auto mine = [&](const Lists& lists) {
        return lists ? Split((*lists)[call.rank_index()]) : Split();
    };
    const Split from = mine(params.output_split);
    const Split to = mine(params.input_split);
    if (!from && !to)
        return make_or_fill(
            call, Role::out, shape,
            [&](const auto&... out) { return all_to_all_single(out..., x, call.group); },
            [&](const auto&... out) { return all_to_all_single_async(out..., x, call.group); });
    if (call.target == Target::fresh && from && to)
        return perform(
            call, [&] { return all_to_all_single(x, *from, *to, call.group); },
            [&] { return all_to_all_single_async(x, *from, *to, call.group); });
    const Tensor out = make_output(call, Role::out, shape);
    return perform(
        call, [&] { return all_to_all_single(out, x, from, to, call.group); },
        [&] { return all_to_all_single_async(out, x, from, to, call.group); });
}

}  // namespace

std::vector<Driver> collective_drivers() {
    const std::vector<Target> list_given = {Target::given, Target::fresh};
    return {
        {"scatter", scatter_forward, nullptr, nullptr, {Target::given}},
        {"gather", gather_forward, nullptr, nullptr, list_given},
        {"broadcast", broadcast_forward, nullptr, broadcast_writes, {Target::fresh}},
        {"all_gather", all_gather_forward, nullptr, nullptr, {Target::fresh, Target::given}},
        {"all_to_all_single", all_to_all_single_forward, nullptr, nullptr, {Target::fresh, Target::given}}};
}

}  // namespace plumb::cli
