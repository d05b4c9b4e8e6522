#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include <plumb/comm/reduce_op.h>
#include <plumb/core/error.h>

#include "cli/verify_family.h"

namespace plumb::cli {

namespace {

using Variants = std::vector<Variant>;

const std::vector<Shape>& plain_shapes() {
    static const std::vector<Shape> shapes = {{}, {7}, {2, 0}, {3, 4}, {2, 1, 3, 2}};
    return shapes;
}

std::string spell(const Shape& shape) {
    std::string text;
    for (const std::int64_t extent : shape)
        text += fmt::format("{}{}", text.empty() ? "" : "x", extent);
    return text.empty() ? "scalar" : text;
}

Variant variant(const std::string& label, const Shape& shape) {
    Variant result;
    result.label = (label.empty() ? "" : label + "-") + spell(shape);
    result.shape = shape;
    return result;
}

Variants rooted(DType) {
    Variants list;
    for (const Shape& shape : plain_shapes())
        for (const RootPlace root : {RootPlace::first, RootPlace::last}) {
            list.push_back(variant(root == RootPlace::first ? "first" : "last", shape));
            list.back().root = root;
        }
    return list;
}

Variants all_gather_variants(DType) {
    Variants list;
    for (const Shape& shape : plain_shapes())
        for (const char* form : {"concat", "stack"}) {
            list.push_back(variant(form, shape));
            list.back().params.form = form;
        }
    return list;
}

Variants with_operators(DType dtype, const std::vector<Shape>& shapes) {
    Variants list;
    for (const ReduceOp op : kAllReduceOps) {
        if (!is_defined_for(op, dtype)) continue;
        std::string label(name(op));
        std::transform(label.begin(), label.end(), label.begin(),
                       [](char c) { return static_cast<char>(c | 0x20); });
        for (const Shape& shape : shapes) {
            list.push_back(variant(label, shape));
            list.back().params.reduce = std::string(name(op));
        }
    }
    return list;
}

Variants all_reduce_variants(DType dtype) {
    return with_operators(dtype, {{}, {2, 0}, {3, 4}});
}

Variants reduce_variants(DType dtype) {
    Variants list = with_operators(dtype, {{5}, {2, 3}});
    for (std::size_t i = 0; i < list.size(); i += 2) {
        list[i].root = RootPlace::last;
        list[i].label += "-last";
    }
    return list;
}

Variants reduce_scatter_variants(DType dtype) {
    return with_operators(dtype, {{2}, {0, 3}, {2, 3}});
}

Variants dict_variants(DType dtype) {
    Variants list;
    if (!is_floating(dtype) || is_float8(dtype)) return list;
    for (const std::int64_t entries : {0, 1, 4})
        for (Variant& made : with_operators(dtype, {{entries}})) {
            for (const Twist twist : {Twist::other_order, Twist::other_names}) {
                list.push_back(made);
                list.back().twist = twist;
                list.back().label += twist == Twist::other_order ? "-strict" : "-by_position";
                list.back().params.key_match = twist == Twist::other_order ? "strict" : "by_position";
            }
        }
    return list;
}

Variants all_to_all_single_variants(DType) {
    Variants list;
    for (const Shape& shape : {Shape{2}, Shape{0, 3}, Shape{2, 3}, Shape{1, 2, 2}})
        list.push_back(variant("even", shape));
    for (const Shape& shape : {Shape{1}, Shape{1, 3}, Shape{1, 2, 2}}) {
        list.push_back(variant("uneven", shape));
        list.back().twist = Twist::uneven;
    }
    return list;
}

Variants all_to_all_variants(DType) {
    Variants list;
    const auto add = [&](std::int64_t gather_dim, std::int64_t scatter_dim, const Shape& shape) {
        list.push_back(variant(fmt::format("g{}s{}", gather_dim, scatter_dim), shape));
        list.back().params.gather_dim = gather_dim;
        list.back().params.scatter_dim = scatter_dim;
    };
    add(0, 1, {2, 3});
    add(1, 0, {2, 3});
    add(0, 1, {3, 0});
    add(1, 2, {2, 3, 1, 2});
    add(2, 1, {2, 1, 3});
    add(3, 0, {1, 2, 1, 2});
    add(0, 3, {2, 1, 2, 2});
    return list;
}

/// Scatter and gather regions; `absent` adds inputs that only the first rank has.
Variants region_variants(Twist absent) {
    Variants list;
    for (const bool rank0_only : {true, false}) {
        const auto add = [&](std::optional<std::int64_t> dim, const Shape& shape, Twist twist = Twist::none) {
            const std::string label =
                fmt::format("{}{}{}", rank0_only ? "r0" : "all", dim ? fmt::format("-d{}", *dim) : "",
                            twist == Twist::absent ? "-absent" : "");
            list.push_back(variant(label, shape));
            list.back().params.rank0_only = rank0_only;
            list.back().params.dim = dim;
            list.back().twist = twist;
        };
        add(std::nullopt, {2, 3});
        add(std::nullopt, {2, 0});
        add(std::nullopt, {2, 1, 2});
        add(0, {2, 3});
        add(-1, {2, 1, 2});
        if (rank0_only && absent == Twist::absent) add(std::nullopt, {3, 2}, absent);
    }
    return list;
}

Variants scatter_region_variants(DType) {
    return region_variants(Twist::absent);
}
Variants gather_region_variants(DType) {
    return region_variants(Twist::none);
}

Variants halo_variants(DType) {
    Variants list;
    const auto add = [&](std::int64_t left, std::int64_t right, std::int64_t dim, const Shape& shape,
                         Twist twist = Twist::none) {
        for (const char* impl : {"p2p", "collective"}) {
            list.push_back(variant(fmt::format("l{}r{}d{}{}-{}", left, right, dim,
                                               twist == Twist::uneven ? "-uneven" : "", impl),
                                   shape));
            list.back().params.left_size = left;
            list.back().params.right_size = right;
            list.back().params.dim = dim;
            list.back().impl = impl;
            list.back().twist = twist;
        }
    };
    add(1, 1, 0, {3, 2});
    add(2, 1, 1, {2, 2, 2});  // the two halos overlap in the backward
    add(2, 2, -1, {2, 3});
    add(0, 2, 1, {2, 3});
    add(3, 0, 0, {3});
    add(0, 0, 0, {2, 2});
    add(0, 0, 0, {0, 2});
    add(1, 2, 1, {2, 2, 2}, Twist::uneven);
    return list;
}

}  // namespace

std::vector<Variant> variants_of(std::string_view op, DType dtype) {
    static const std::map<std::string_view, Variants (*)(DType)> table = {
        {"scatter", rooted},
        {"gather", rooted},
        {"broadcast", rooted},
        {"all_gather", all_gather_variants},
        {"all_to_all_single", all_to_all_single_variants},
        {"all_reduce", all_reduce_variants},
        {"reduce", reduce_variants},
        {"reduce_scatter", reduce_scatter_variants},
        {"all_reduce_dict", dict_variants},
        {"all_to_all", all_to_all_variants},
        {"scatter_to_sequence_parallel_region", scatter_region_variants},
        {"gather_from_sequence_parallel_region", gather_region_variants},
        {"cp_halo_exchange", halo_variants},
    };
    const auto place = table.find(op);
    if (place == table.end()) throw ArgumentError(fmt::format("verify has no family for {}", op));
    return place->second(dtype);
}

}  // namespace plumb::cli
