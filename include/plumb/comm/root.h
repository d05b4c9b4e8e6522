#pragma once

#include <string>
#include <variant>

#include <plumb/core/rank.h>

namespace plumb {

/// The rank that a rooted collective names, as a global rank or as a position in the group: `GlobalRank(2)`
/// and `GroupRank(0)` both convert. Outside the group it is an agreed error.
class Root {
  public:
    Root(GlobalRank rank) : rank_(rank) {}  // NOLINT: meant to convert
    Root(GroupRank rank) : rank_(rank) {}   // NOLINT

    [[nodiscard]] const std::variant<GlobalRank, GroupRank>& rank() const noexcept { return rank_; }

  private:
    std::variant<GlobalRank, GroupRank> rank_;
};

}  // namespace plumb
