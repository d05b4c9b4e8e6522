#include "comm/reduce_op.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>

namespace plumb {

std::string_view name(ReduceOp op) {
    switch (op) {
        case ReduceOp::sum:
            return "SUM";
        case ReduceOp::product:
            return "PRODUCT";
        case ReduceOp::min:
            return "MIN";
        case ReduceOp::max:
            return "MAX";
        case ReduceOp::avg:
            return "AVG";
        case ReduceOp::band:
            return "BAND";
        case ReduceOp::bor:
            return "BOR";
        case ReduceOp::bxor:
            return "BXOR";
    }
    return "?";
}

namespace {

bool equal_but_for_case(std::string_view upper, std::string_view text) {
    return std::equal(upper.begin(), upper.end(), text.begin(), text.end(),
                      [](char a, char b) { return a == b || a + ('a' - 'A') == b; });
}

}  // namespace

ReduceOp reduce_op_from_name(std::string_view text) {
    std::vector<std::string_view> names;
    for (const ReduceOp op : kAllReduceOps) {
        if (equal_but_for_case(name(op), text)) {
            return op;
        }
        names.push_back(name(op));
    }
    throw ArgumentError(fmt::format("reduce is '{}', allowed are {}", text, fmt::join(names, ", ")));
}

namespace comm {

void require_defined_for(ReduceOp op, DType dtype) {
    if (is_defined_for(op, dtype)) {
        return;
    }
    std::vector<std::string_view> names;
    for (const ReduceOp other : kAllReduceOps) {
        if (is_defined_for(other, dtype)) {
            names.push_back(name(other));
        }
    }
    throw ArgumentError(fmt::format("reduce is {}, which is not defined for {}, allowed are {}", name(op),
                                    name(dtype), fmt::join(names, ", ")));
}

}  // namespace comm

}  // namespace plumb
