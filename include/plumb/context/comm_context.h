#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <plumb/context/group.h>
#include <plumb/context/mesh.h>
#include <plumb/context/parallel_mode.h>
#include <plumb/context/settings.h>
#include <plumb/core/rank.h>

namespace plumb {

/// The groups of a parallel job: one Cartesian communicator over the mesh, one group per mode. Move-only.
///
/// Ranks are numbered as in the communicator it is made from, without reordering, the last axis of the mesh
/// fastest. The modes are `global`, the axes that the mesh names and all their unions, `intra_node` and
/// `inter_node`.
class CommContext {
  public:
    /// Collective over MPI_COMM_WORLD. Throws the same AgreementError on all ranks for a mesh that is no
    /// mesh, whose product is not the number of ranks, or that differs between ranks, and for settings that
    /// differ or are wrong.
    explicit CommContext(std::string_view mesh);
    /// The same over any communicator, which stays the user's. Collective over `comm`. Throws ArgumentError
    /// unless `comm` is an intracommunicator, TimeoutError if not all ranks come within PLUMB_TIMEOUT.
    CommContext(MPI_Comm comm, std::string_view mesh);
    CommContext(MPI_Comm comm, std::string_view mesh, CheckLevel level);

    CommContext(CommContext&&) noexcept;
    CommContext& operator=(CommContext&&) noexcept;
    CommContext(const CommContext&) = delete;
    CommContext& operator=(const CommContext&) = delete;
    /// As destroy(), but where that would throw, what is in flight stays with the Environment.
    ~CommContext();

    /// Completes what is in flight on its groups and frees them all. Collective. Groups obtained from it are
    /// then groups that no rank is a member of. Throws TimeoutError if that takes longer than PLUMB_TIMEOUT.
    void destroy();

    [[nodiscard]] const Mesh& mesh() const noexcept { return mesh_; }
    [[nodiscard]] int world_size() const noexcept;
    /// This rank in the context's world.
    [[nodiscard]] GlobalRank global_rank() const noexcept { return rank_; }

    /// The caller's group of `mode`; valid while the context lives. Local. Throws ArgumentError naming the
    /// modes there are, if the mesh does not have this one.
    [[nodiscard]] const Group& group(ParallelMode mode) const;
    /// A group made by init_group, or of the mode of that name. Throws ArgumentError naming the groups there
    /// are.
    [[nodiscard]] const Group& group(std::string_view name) const;
    [[nodiscard]] bool has(ParallelMode mode) const noexcept;
    /// All modes that have a group, global first.
    [[nodiscard]] std::vector<ParallelMode> modes() const;

    [[nodiscard]] int world_size(ParallelMode mode) const { return group(mode).size(); }
    [[nodiscard]] GroupRank local_rank(ParallelMode mode) const { return group(mode).rank(); }
    [[nodiscard]] std::span<const GlobalRank> ranks_in_group(ParallelMode mode) const {
        return group(mode).ranks();
    }

    /// This rank's position on its node, and the ranks there.
    [[nodiscard]] int node_local_rank() const { return group(ParallelMode::intra_node).rank().value; }
    [[nodiscard]] int node_size() const { return group(ParallelMode::intra_node).size(); }

    /// Mesh coordinates, one per axis in mesh order. Throws ArgumentError for a rank outside the context.
    [[nodiscard]] std::vector<int> coordinates(GlobalRank rank) const;
    [[nodiscard]] std::vector<int> coordinates() const { return coordinates(rank_); }
    /// The previous and next rank along `axis`; none at the ends (the mesh is not periodic).
    struct Neighbours {
        std::optional<GlobalRank> previous;
        std::optional<GlobalRank> next;
    };
    [[nodiscard]] Neighbours neighbours(ParallelMode axis) const;

    /// Adds a group of the ranks named, in the order given. Collective over the context, members or not.
    /// Throws the same AgreementError on all ranks: a name that is taken (by a mode, too), ranks that are
    /// outside the context, repeated, none, or differ between ranks. Throws ArgumentError after destroy().
    const Group& init_group(std::string name, std::span<const GlobalRank> ranks);
    /// Adds disjoint groups under one name; each rank gets the one that holds it, if any. Collective, errors
    /// as above.
    const Group& init_groups(std::string name, std::span<const std::vector<GlobalRank>> partition);

  private:
    void build(MPI_Comm comm, std::string_view mesh, const CheckLevel* level);
    void add_axis_groups();
    void add_node_groups();
    void add_mode(ParallelMode mode, mpi::Communicator data);
    [[nodiscard]] bool is_taken(std::string_view name) const;

    Mesh mesh_{{{ParallelMode::data, 1}}};
    GlobalRank rank_{0};
    CheckLevel level_ = CheckLevel::agree;
    mpi::Communicator cartesian_;
    // Deques: references to groups stay valid when others are added.
    std::deque<std::pair<ParallelMode, Group>> modes_;
    std::deque<std::pair<std::string, Group>> named_;
};

/// The process-wide context that ops use when they are given a mode instead of a group.
/// Makes it, collectively over MPI_COMM_WORLD (or `comm`); it is destroyed at the start of MPI_Finalize at
/// the latest. Throws ArgumentError if there is one already, and as CommContext.
CommContext& init_default_context(std::string_view mesh);
CommContext& init_default_context(MPI_Comm comm, std::string_view mesh);
/// Throws ArgumentError if there is none.
[[nodiscard]] CommContext& default_context();
[[nodiscard]] bool has_default_context() noexcept;
/// Collective. Does nothing if there is none.
void destroy_default_context();

/// What an op acts in: a group, or a mode of the default context.
class GroupRef {
  public:
    GroupRef(const Group& group) : group_(&group) {}                             // NOLINT: meant to convert
    GroupRef(ParallelMode mode) : group_(&default_context().group(mode)) {}      // NOLINT
    GroupRef(std::string_view name) : group_(&default_context().group(name)) {}  // NOLINT
    GroupRef(const char* name) : GroupRef(std::string_view(name)) {}             // NOLINT
    GroupRef(Group&&) = delete;

    [[nodiscard]] const Group& operator*() const noexcept { return *group_; }
    [[nodiscard]] const Group* operator->() const noexcept { return group_; }

  private:
    const Group* group_;
};

}  // namespace plumb
