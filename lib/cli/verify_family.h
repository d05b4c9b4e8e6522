#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/context/mesh.h>
#include <plumb/oracle/manifest.h>

#include "cli/call.h"
#include "cli/draw.h"
#include "cli/placed.h"

namespace plumb::cli {

enum class Property : std::uint8_t { values, adjoint };
enum class RootPlace : std::uint8_t { first, last };
/// Which ranks' inputs or sizes differ from the rule.
enum class Twist : std::uint8_t {
    none,
    uneven,       ///< sizes differ between ranks
    absent,       ///< only the rank that counts has an input
    other_order,  ///< dict: each rank inserts its keys in another order
    other_names,  ///< dict: each rank has other keys, matched by position
};

/// The arguments of an operation, as far as they do not depend on the group.
struct Variant {
    std::string label;
    Shape shape;  ///< of one rank's share; a dimension that the operation divides is this times the group's
                  ///< size
    oracle::Params params;
    std::string impl;
    RootPlace root = RootPlace::first;
    Twist twist = Twist::none;
};

struct RankOutcome;
struct VerifySpec;
/// Makes the call and looks at what came of it; may throw what the library throws.
using MessageCheck = void (*)(const VerifySpec& spec, const Group& group, std::uint64_t key,
                              RankOutcome& outcome);

/// One case of the family: everything but the data, which a seed gives.
struct VerifySpec {
    std::string id;
    const Driver* driver = nullptr;
    MessageCheck check = nullptr;  ///< for operations that cases have no words for
    Property property = Property::values;
    ParallelMode mode = ParallelMode::global;
    DType dtype = DType::f32;
    Variant variant;
    Layout layout = Layout::contiguous;
    Layout output_layout = Layout::contiguous;
    Timing timing = Timing::blocking;
    Target target = Target::fresh;
    Data data = Data::bits;

    /// The operation's name, or "… (adjoint)".
    [[nodiscard]] std::string row() const;
};

/// The modes of a mesh, as a context has them.
[[nodiscard]] std::vector<ParallelMode> modes_of(const Mesh& mesh);
/// Every operation × mode × dtype × arguments and shapes × strides; the same on every rank.
[[nodiscard]] std::vector<VerifySpec> verify_family(const Mesh& mesh);

/// The names of all operations of the family.
[[nodiscard]] std::vector<std::string_view> verify_ops();

/// The argument lists and shapes an operation is tried with for one dtype; none where it is not defined.
[[nodiscard]] std::vector<Variant> variants_of(std::string_view op, DType dtype);

}  // namespace plumb::cli
