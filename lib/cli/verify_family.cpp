#include "cli/verify_family.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "cli/case_run.h"
#include "cli/verify_messages.h"

namespace plumb::cli {

namespace {

constexpr std::array kLayouts = {Layout::contiguous, Layout::transposed, Layout::sliced, Layout::expanded};
/// Element types in which sums of a few small whole numbers are exact.
constexpr std::array kAdjointDTypes = {DType::i32, DType::f16, DType::bf16,
                                       DType::f32, DType::f64, DType::c64};

bool has_adjoint(std::string_view op) {
    return op == "all_to_all" || op == "cp_halo_exchange";
}

/// Layouts that are different ones for this operation and shape.
bool is_layout_for(const VerifySpec& spec) {
    const Shape& shape = spec.variant.shape;
    const bool in_place = spec.driver->in_place != nullptr;
    const bool dict = spec.driver->op == "all_reduce_dict" || spec.driver->op == "broadcast_object_list";
    switch (spec.layout) {
        case Layout::contiguous:
            return true;
        case Layout::transposed:
            return shape.ndim() >= 2 && !dict;
        case Layout::sliced:
            return !dict;
        case Layout::expanded:
            return shape.ndim() >= 1 && !in_place && !dict;
    }
    return false;
}

/// Form of the call and data: by the name so far, so that over the family all are met with all.
void choose_rest(VerifySpec& spec) {
    const std::uint64_t word = draw(digest_of(spec.id), 0);
    const auto& targets = spec.driver->targets;
    spec.timing = (word & 1U) != 0 ? Timing::async : Timing::blocking;
    spec.target = targets[(word >> 1U) % targets.size()];
    spec.output_layout = (word >> 8U & 1U) != 0 ? Layout::sliced : Layout::contiguous;
    spec.data = (word >> 16U) % 3 == 0 ? Data::bits : Data::real;
    if (spec.property == Property::adjoint) spec.data = Data::whole;
    spec.id +=
        fmt::format("-{}{}-{}", spec.timing == Timing::async ? "async" : "blocking",
                    spec.target == Target::given && targets.size() > 1 ? "-into" : "", name(spec.data));
}

void add_specs(VerifySpec spec, std::vector<VerifySpec>& family) {
    for (Variant& variant :
         spec.check != nullptr ? message_variants(spec) : variants_of(spec.driver->op, spec.dtype)) {
        spec.variant = std::move(variant);
        for (const Layout layout : kLayouts) {
            spec.layout = layout;
            if (!is_layout_for(spec)) continue;
            spec.id = fmt::format("{}{}-{}-{}-{}-{}", spec.property == Property::adjoint ? "adjoint-" : "",
                                  spec.driver->op, to_string(spec.mode), spec.variant.label,
                                  short_name(spec.dtype), name(layout));
            family.push_back(spec);
            choose_rest(family.back());
        }
    }
}

}  // namespace

std::string VerifySpec::row() const {
    return std::string(driver->op) + (property == Property::adjoint ? " (adjoint)" : "");
}

std::vector<ParallelMode> modes_of(const Mesh& mesh) {
    std::vector<ParallelMode> modes = {ParallelMode::global};
    const std::size_t axes = mesh.axes().size();
    std::vector<ParallelMode> unions;
    for (std::size_t subset = 1; subset < std::size_t{1} << axes; ++subset) {
        auto mode = static_cast<ParallelMode>(0);
        for (std::size_t a = 0; a < axes; ++a)
            if ((subset >> a & 1U) != 0) mode = mode + mesh.axes()[a].mode;
        ((subset & (subset - 1)) == 0 ? modes : unions).push_back(mode);
    }
    modes.insert(modes.end(), unions.begin(), unions.end());
    modes.insert(modes.end(), {ParallelMode::intra_node, ParallelMode::inter_node});
    return modes;
}

std::vector<std::string_view> verify_ops() {
    std::vector<std::string_view> ops;
    for (const Driver& driver : drivers())
        ops.push_back(driver.op);
    for (const MessageDriver& message : message_drivers())
        ops.push_back(message.driver.op);
    return ops;
}

std::vector<VerifySpec> verify_family(const Mesh& mesh) {
    std::vector<VerifySpec> family;
    const std::vector<ParallelMode> modes = modes_of(mesh);
    const auto add = [&](VerifySpec spec, std::span<const DType> dtypes) {
        for (const ParallelMode mode : modes)
            for (const DType dtype : dtypes) {
                spec.mode = mode;
                spec.dtype = dtype;
                add_specs(spec, family);
            }
    };
    for (const Driver& driver : drivers()) {
        VerifySpec spec;
        spec.driver = &driver;
        add(spec, kAllDTypes);
        spec.property = Property::adjoint;
        if (has_adjoint(driver.op)) add(spec, kAdjointDTypes);
    }
    for (const MessageDriver& message : message_drivers()) {
        VerifySpec spec;
        spec.driver = &message.driver;
        spec.check = message.check;
        add(spec, kAllDTypes);
    }
    return family;
}

}  // namespace plumb::cli
