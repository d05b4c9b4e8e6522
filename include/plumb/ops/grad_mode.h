#pragma once

#include <cstdint>
#include <string_view>

namespace plumb {

/// By which convention the backward of a region op makes its gradient. Named in the call, never implied.
enum class GradMode : std::uint8_t {
    /// Ranks are replicas whose gradients are averaged later: scatter's backward gathers and divides by the
    /// group's size, gather's backward takes a chunk times the group's size. Not the transpose of the forward
    /// map.
    replica_mean,
};

/// "replica_mean".
[[nodiscard]] std::string_view name(GradMode mode);
/// Throws ArgumentError that lists what is allowed.
[[nodiscard]] GradMode grad_mode_from_name(std::string_view text);

}  // namespace plumb
