#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/context/group.h>
#include <plumb/oracle/manifest.h>
#include <plumb/tensor/tensor.h>

/// From a case of a case set to a call of the library: one function per operation and direction. To add an
/// operation, write them and list them in call.cpp.
namespace plumb::cli {

enum class Timing : std::uint8_t { blocking, async };
/// Whether the operation makes its output, or writes the caller's.
enum class Target : std::uint8_t { fresh, given };

/// One rank's call. The rank is a member of the group.
struct Call {
    const oracle::Case& item;
    std::size_t group_index;  ///< in item.groups
    const Group& group;
    Timing timing = Timing::blocking;
    Target target = Target::fresh;
    /// Makes the tensors that the operation is to write to; they outlive the call.
    std::function<Tensor(const Shape&, DType)> make;

    [[nodiscard]] GlobalRank rank() const { return group.global_rank(group.rank()); }
    [[nodiscard]] std::size_t rank_index() const { return static_cast<std::size_t>(rank().value); }
};

/// What a rank hands to an operation or gets from it: a tensor (undefined where there is none) or a list.
struct Values {
    Values() = default;
    Values(Tensor one) : tensor(std::move(one)) {}                     // NOLINT: meant to convert
    Values(std::vector<Tensor> several) : list(std::move(several)) {}  // NOLINT

    Tensor tensor;
    std::vector<Tensor> list;
    std::vector<std::string> keys;  ///< of all_reduce_dict's result, in its order
};

struct Driver {
    std::string_view op;
    Values (*forward)(const Call& call, const Values& input);
    Tensor (*backward)(const Call& call, const Tensor& grad_output) = nullptr;
    /// Whether this rank's input tensor is also its output.
    bool (*in_place)(const Call& call) = nullptr;
    /// The targets it has; the first is the one for the faulty calls of error cases.
    std::vector<Target> targets = {Target::fresh, Target::given};
};

/// Null for an unknown operation.
[[nodiscard]] const Driver* find_driver(std::string_view op);
/// All operations, in the order in which they are listed.
[[nodiscard]] const std::vector<Driver>& drivers();

/// What the case asks for that this version of the library does not have, if anything.
[[nodiscard]] std::optional<std::string> unsupported(const oracle::Case& item);

}  // namespace plumb::cli
