#pragma once

#include <compare>

namespace plumb {

/// A rank of the context's world (the communicator the context was made from).
struct GlobalRank {
    int value = 0;
    constexpr explicit GlobalRank(int v) : value(v) {}
    auto operator<=>(const GlobalRank&) const = default;
};

/// A position inside one group, 0 … size-1.
struct GroupRank {
    int value = 0;
    constexpr explicit GroupRank(int v) : value(v) {}
    auto operator<=>(const GroupRank&) const = default;
};

}  // namespace plumb
