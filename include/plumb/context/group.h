#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include <plumb/core/rank.h>
#include <plumb/mpi/channel.h>

namespace plumb {

using mpi::CheckLevel;

/// The ranks that take part in a collective call, with private communicators of their own. Move-only.
///
/// A rank that is not a member holds a Group too: its calls do nothing and give a result in state
/// `not_in_group`.
class Group {
  public:
    /// No group: not a member of anything.
    Group() = default;

    /// From any communicator, which stays the user's: Plumb works on private duplicates. Collective over
    /// `comm`. Global ranks are those of MPI_COMM_WORLD. MPI_COMM_NULL makes a group this rank is not a
    /// member of. Throws ArgumentError for an intercommunicator, AgreementError where the ranks' settings
    /// (PLUMB_CHECK, …) differ, TimeoutError if not all ranks come within PLUMB_TIMEOUT.
    explicit Group(MPI_Comm comm, std::string name = "user");
    Group(MPI_Comm comm, std::string name, CheckLevel level);

    Group(Group&&) noexcept = default;
    Group& operator=(Group&& other) noexcept;
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    /// As destroy(), but where that would throw the group's communicators stay with the Environment.
    ~Group();

    /// Completes what is in flight on the group, dropped handles included, and frees its communicators.
    /// Collective over the group. Throws TimeoutError if that takes longer than PLUMB_TIMEOUT; then it may be
    /// called again.
    void destroy();

    [[nodiscard]] bool is_member() const noexcept { return channel_ != nullptr; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Number of ranks.
    [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
    /// This rank's position. Throws ArgumentError if it is not a member.
    [[nodiscard]] GroupRank rank() const;
    /// Global ranks in group order. Empty for a group this rank is not a member of, unless it was made from
    /// ranks.
    [[nodiscard]] std::span<const GlobalRank> ranks() const noexcept { return ranks_; }
    /// Throws ArgumentError if `rank` is not 0 … size-1.
    [[nodiscard]] GlobalRank global_rank(GroupRank rank) const;
    /// The position of `rank`, if it is a member.
    [[nodiscard]] std::optional<GroupRank> group_rank(GlobalRank rank) const noexcept;
    [[nodiscard]] CheckLevel check_level() const noexcept;

    /// Plumb's communicator for the group (Cartesian for a mode of a context), for queries such as
    /// MPI_Cart_coords. It carries Plumb's traffic: duplicate it to communicate on it. MPI_COMM_NULL if not a
    /// member.
    [[nodiscard]] MPI_Comm communicator() const noexcept;

    /// For the layers above: what is in flight, and the wire. Null if not a member.
    [[nodiscard]] const std::shared_ptr<mpi::Channel>& channel() const noexcept { return channel_; }

  private:
    friend class CommContext;
    void make(MPI_Comm comm, const CheckLevel* level);
    /// Takes over `data`, and duplicates it for agreements. Collective over `data`.
    Group(mpi::Communicator data, std::string name, std::vector<GlobalRank> ranks, CheckLevel level);
    /// A group known to this rank, which is not in it.
    Group(std::string name, std::vector<GlobalRank> ranks)
        : name_(std::move(name)), ranks_(std::move(ranks)) {}

    std::string name_;
    std::vector<GlobalRank> ranks_;
    std::shared_ptr<mpi::Channel> channel_;
};

}  // namespace plumb
