#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

/// Which group of the mesh a call acts in. The axes (`data` … `expert`) can be joined: `data + sequence` is
/// the group of all ranks that differ from the caller only in those two coordinates.
enum class ParallelMode : std::uint16_t {
    data = 1U << 0U,
    tensor = 1U << 1U,
    pipeline = 1U << 2U,
    sequence = 1U << 3U,
    context = 1U << 4U,
    expert = 1U << 5U,
    global = 1U << 6U,      ///< every rank of the context
    intra_node = 1U << 7U,  ///< the ranks that share this rank's node
    inter_node = 1U << 8U,  ///< the ranks with this rank's position in their node, one per node
};
using CommMode = ParallelMode;

inline constexpr std::array kAxes = {ParallelMode::data,     ParallelMode::tensor,  ParallelMode::pipeline,
                                     ParallelMode::sequence, ParallelMode::context, ParallelMode::expert};

[[nodiscard]] constexpr ParallelMode operator+(ParallelMode a, ParallelMode b) {
    return static_cast<ParallelMode>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
/// Whether `mode` is `part` or a union that holds it.
[[nodiscard]] constexpr bool contains(ParallelMode mode, ParallelMode part) {
    return (static_cast<std::uint16_t>(mode) & static_cast<std::uint16_t>(part)) ==
           static_cast<std::uint16_t>(part);
}

/// "sequence", "data+sequence", "intra_node".
[[nodiscard]] std::string to_string(ParallelMode mode);
/// The manifest's spelling: "SEQUENCE_PARALLEL", "DATA_PARALLEL+SEQUENCE_PARALLEL", "GLOBAL", "INTRA_NODE".
[[nodiscard]] std::string manifest_name(ParallelMode mode);
/// Accepts both spellings; only axes can be joined. Throws ArgumentError that lists what is allowed.
[[nodiscard]] ParallelMode parallel_mode_from_name(std::string_view text);

}  // namespace plumb
