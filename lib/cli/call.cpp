#include "cli/call.h"

#include <fmt/format.h>

#include "cli/call_support.h"

namespace plumb::cli {

const std::vector<Driver>& drivers() {
    static const std::vector<Driver> all = [] {
        std::vector<Driver> list;
        for (auto part : {collective_drivers(), reduction_drivers(), differentiable_drivers()})
            list.insert(list.end(), part.begin(), part.end());
        return list;
    }();
    return all;
}

const Driver* find_driver(std::string_view op) {
    for (const Driver& driver : drivers())
        if (driver.op == op) return &driver;
    return nullptr;
}

std::optional<std::string> unsupported(const oracle::Case& item) {
    const auto& p = item.params;
    const auto text = [](const char* key, const std::string& value) {
        return fmt::format("not supported by this version: params.{} {}", key, value);
    };
    const auto other_than = [](const std::optional<std::string>& value, const char* word) {
        return value && *value != word;
    };
    if (other_than(p.order, "ordered")) return text("order", *p.order);
    if (other_than(p.accumulate, "f32")) return text("accumulate", *p.accumulate);
    if (other_than(p.grad_mode, "replica_mean")) return text("grad_mode", *p.grad_mode);
    if (other_than(p.output_grad, "partial")) return text("output_grad", *p.output_grad);
    if (other_than(p.edge, "zero")) return text("edge", *p.edge);
    if (p.strict && !*p.strict) return text("strict", "false");
    if (p.halos) return text("halos", "(several dimensions)");
    if (p.split) return text("split", "(uneven)");
    if (p.scatter_split) return text("scatter_split", "(uneven)");
    if (p.gather_split) return text("gather_split", "(uneven)");
    return std::nullopt;
}

}  // namespace plumb::cli
