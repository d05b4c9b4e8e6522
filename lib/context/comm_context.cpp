#include <plumb/context/comm_context.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>
#include <plumb/core/log.h>
#include <plumb/mpi/environment.h>

namespace plumb {

namespace {

mpi::Communicator split(MPI_Comm comm, int color, int key) {
    MPI_Comm part = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split(comm, color, key, &part), "MPI_Comm_split", mpi::world_caller());
    return mpi::Communicator(part);
}

/// Throws ArgumentError for a rank that is outside the context, or named twice.
void check_partition(std::span<const std::vector<GlobalRank>> partition, int world_size) {
    std::vector<bool> seen(static_cast<std::size_t>(world_size), false);
    for (const auto& ranks : partition) {
        if (ranks.empty()) {
            throw ArgumentError("ranks is empty, a group needs at least one");
        }
        for (const auto rank : ranks) {
            if (rank.value < 0 || rank.value >= world_size) {
                throw ArgumentError(
                    fmt::format("ranks holds {}, which is outside the context, allowed is 0 … {}", rank.value,
                                world_size - 1));
            }
            if (seen[static_cast<std::size_t>(rank.value)]) {
                throw ArgumentError(fmt::format("ranks holds {} twice", rank.value));
            }
            seen[static_cast<std::size_t>(rank.value)] = true;
        }
    }
}

std::string spell(std::span<const GlobalRank> ranks) {
    std::vector<int> values;
    for (const auto rank : ranks) {
        values.push_back(rank.value);
    }
    return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

CommContext::CommContext(std::string_view mesh) {
    build(MPI_COMM_WORLD, mesh, nullptr);
}

CommContext::CommContext(MPI_Comm comm, std::string_view mesh) {
    build(comm, mesh, nullptr);
}

CommContext::CommContext(MPI_Comm comm, std::string_view mesh, CheckLevel level) {
    build(comm, mesh, &level);
}

CommContext::CommContext(CommContext&&) noexcept = default;

CommContext& CommContext::operator=(CommContext&& other) noexcept {
    if (this != &other) {
        CommContext old(std::move(*this));
        mesh_ = std::move(other.mesh_);
        rank_ = other.rank_;
        level_ = other.level_;
        cartesian_ = std::move(other.cartesian_);
        modes_ = std::move(other.modes_);
        named_ = std::move(other.named_);
    }
    return *this;
}

CommContext::~CommContext() = default;

void CommContext::build(MPI_Comm comm, std::string_view mesh, const CheckLevel* level) {
    mpi::require_usable_mpi();
    const auto world = mpi::Communicator::duplicate(comm);
    std::vector<GlobalRank> ranks;
    for (int r = 0; r < world.size(); ++r) {
        ranks.emplace_back(r);
    }
    rank_ = GlobalRank(world.rank());
    mpi::agree(world.get(), "context", ranks, [&](mpi::Signature& signature) {
        signature.field("operation", "CommContext");
        signature.field("mesh", mesh);
        Settings settings = Settings::from_environment();
        level_ = settings.check_level = level != nullptr ? *level : settings.check_level;
        settings.describe(signature);
        mesh_ = Mesh(mesh);
        if (mesh_.size() != world.size()) {
            throw ArgumentError(fmt::format("mesh is '{}', whose product is {}, but there are {} ranks", mesh,
                                            mesh_.size(), world.size()));
        }
    });
    std::vector<int> extents;
    for (const auto& axis : mesh_.axes()) {
        extents.push_back(axis.size);
    }
    const std::vector<int> periods(extents.size(), 0);
    MPI_Comm cartesian = MPI_COMM_NULL;
    mpi::check(MPI_Cart_create(world.get(), static_cast<int>(extents.size()), extents.data(), periods.data(),
                               /*reorder=*/0, &cartesian),
               "MPI_Cart_create", {"context", rank_});
    cartesian_ = mpi::Communicator(cartesian);
    add_axis_groups();
    add_node_groups();
}

std::vector<GlobalRank> CommContext::context_ranks(MPI_Comm comm) const {
    const mpi::Caller caller{"context", rank_};
    MPI_Group context = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(cartesian_.get(), &context), "MPI_Comm_group", caller);
    mpi::check(MPI_Comm_group(comm, &group), "MPI_Comm_group", caller);
    int size = 0;
    mpi::check(MPI_Group_size(group, &size), "MPI_Group_size", caller);
    std::vector<int> positions(static_cast<std::size_t>(size));
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<int> ranks(positions.size());
    mpi::check(MPI_Group_translate_ranks(group, size, positions.data(), context, ranks.data()),
               "MPI_Group_translate_ranks", caller);
    MPI_Group_free(&group);
    MPI_Group_free(&context);
    return {ranks.begin(), ranks.end()};
}

void CommContext::add_axis_groups() {
    const auto& axes = mesh_.axes();
    const auto add = [&](ParallelMode mode, const std::vector<int>& remain) {
        MPI_Comm part = MPI_COMM_NULL;
        mpi::check(MPI_Cart_sub(cartesian_.get(), remain.data(), &part), "MPI_Cart_sub", {"context", rank_});
        auto data = mpi::Communicator(part);
        auto ranks = context_ranks(data.get());
        modes_.emplace_back(mode, Group(std::move(data), to_string(mode), std::move(ranks), level_));
    };
    add(ParallelMode::global, std::vector<int>(axes.size(), 1));
    // Single axes first, then the unions, in the order of the subsets' bit patterns: the same on every rank.
    const unsigned subsets = 1U << axes.size();
    for (const bool unions : {false, true}) {
        for (unsigned subset = 1; subset < subsets; ++subset) {
            if (((subset & (subset - 1)) != 0) != unions) {
                continue;
            }
            std::vector<int> remain(axes.size(), 0);
            auto mode = static_cast<ParallelMode>(0);
            for (std::size_t a = 0; a < axes.size(); ++a) {
                if ((subset >> a & 1U) != 0) {
                    remain[a] = 1;
                    mode = mode + axes[a].mode;
                }
            }
            add(mode, remain);
        }
    }
}

void CommContext::add_node_groups() {
    MPI_Comm node = MPI_COMM_NULL;
    mpi::check(MPI_Comm_split_type(cartesian_.get(), MPI_COMM_TYPE_SHARED, rank_.value, MPI_INFO_NULL, &node),
               "MPI_Comm_split_type", {"context", rank_});
    auto intra = mpi::Communicator(node);
    const int local_rank = intra.rank();
    auto ranks = context_ranks(intra.get());
    modes_.emplace_back(ParallelMode::intra_node, Group(std::move(intra), to_string(ParallelMode::intra_node),
                                                        std::move(ranks), level_));
    auto inter = split(cartesian_.get(), local_rank, rank_.value);
    ranks = context_ranks(inter.get());
    modes_.emplace_back(ParallelMode::inter_node, Group(std::move(inter), to_string(ParallelMode::inter_node),
                                                        std::move(ranks), level_));
}

void CommContext::destroy() {
    for (auto& [name, group] : named_) {
        group.destroy();
    }
    for (auto& [mode, group] : modes_) {
        group.destroy();
    }
    cartesian_.reset();
}

int CommContext::world_size() const noexcept {
    return mesh_.size();
}

bool CommContext::has(ParallelMode mode) const noexcept {
    return std::any_of(modes_.begin(), modes_.end(), [&](const auto& entry) { return entry.first == mode; });
}

std::vector<ParallelMode> CommContext::modes() const {
    std::vector<ParallelMode> modes;
    for (const auto& entry : modes_) {
        modes.push_back(entry.first);
    }
    return modes;
}

const Group& CommContext::group(ParallelMode mode) const {
    for (const auto& [candidate, group] : modes_) {
        if (candidate == mode) {
            return group;
        }
    }
    std::vector<std::string> names;
    for (const auto& entry : modes_) {
        names.push_back(to_string(entry.first));
    }
    throw ArgumentError(fmt::format("mode '{}' has no group in mesh '{}', allowed are {}", to_string(mode),
                                    mesh_.to_string(), fmt::join(names, ", ")));
}

const Group& CommContext::group(std::string_view name) const {
    std::vector<std::string> names;
    for (const auto& [candidate, group] : named_) {
        if (candidate == name) {
            return group;
        }
        names.push_back(candidate);
    }
    throw ArgumentError(fmt::format("there is no group '{}', those made by init_group are: {}", name,
                                    names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

std::vector<int> CommContext::coordinates(GlobalRank rank) const {
    if (rank.value < 0 || rank.value >= world_size()) {
        throw ArgumentError(fmt::format("rank is {}, which is outside the context, allowed is 0 … {}",
                                        rank.value, world_size() - 1));
    }
    std::vector<int> coordinates(mesh_.axes().size());
    mpi::check(MPI_Cart_coords(cartesian_.get(), rank.value, static_cast<int>(coordinates.size()),
                               coordinates.data()),
               "MPI_Cart_coords", {"context", rank_});
    return coordinates;
}

CommContext::Neighbours CommContext::neighbours(ParallelMode axis) const {
    const auto& axes = mesh_.axes();
    const auto place =
        std::find_if(axes.begin(), axes.end(), [&](const Mesh::Axis& entry) { return entry.mode == axis; });
    if (place == axes.end()) {
        throw ArgumentError(fmt::format("axis is '{}', allowed are the axes of mesh '{}'", to_string(axis),
                                        mesh_.to_string()));
    }
    int previous = MPI_PROC_NULL;
    int next = MPI_PROC_NULL;
    mpi::check(MPI_Cart_shift(cartesian_.get(), static_cast<int>(place - axes.begin()), 1, &previous, &next),
               "MPI_Cart_shift", {"context", rank_});
    Neighbours neighbours;
    if (previous != MPI_PROC_NULL) {
        neighbours.previous = GlobalRank(previous);
    }
    if (next != MPI_PROC_NULL) {
        neighbours.next = GlobalRank(next);
    }
    return neighbours;
}

const Group& CommContext::init_group(std::string name, std::span<const GlobalRank> ranks) {
    const std::vector<GlobalRank> one(ranks.begin(), ranks.end());
    return init_groups(std::move(name), std::span(&one, 1));
}

const Group& CommContext::init_groups(std::string name, std::span<const std::vector<GlobalRank>> partition) {
    mpi::require_usable_mpi();
    const Group& world = group(ParallelMode::global);
    int color = MPI_UNDEFINED;
    int position = 0;
    mpi::agree(cartesian_.get(), "context", world.ranks(), [&](mpi::Signature& signature) {
        signature.field("operation", "init_group");
        signature.field("name", name);
        for (std::size_t g = 0; g < partition.size(); ++g) {
            signature.field(fmt::format("ranks[{}]", g), spell(partition[g]));
            const auto place = std::find(partition[g].begin(), partition[g].end(), rank_);
            if (place != partition[g].end()) {
                color = static_cast<int>(g);
                position = static_cast<int>(place - partition[g].begin());
            }
        }
        if (std::any_of(named_.begin(), named_.end(),
                        [&](const auto& entry) { return entry.first == name; })) {
            throw ArgumentError(fmt::format("name is '{}', which is taken", name));
        }
        check_partition(partition, world_size());
    });
    auto part = split(cartesian_.get(), color, position);
    if (color == MPI_UNDEFINED) {
        // With one group everybody knows who is in it; with several, this rank belongs to none.
        auto ranks = partition.size() == 1 ? partition[0] : std::vector<GlobalRank>{};
        named_.emplace_back(name, Group(name, std::move(ranks)));
    } else {
        named_.emplace_back(name,
                            Group(std::move(part), name, partition[static_cast<std::size_t>(color)], level_));
    }
    return named_.back().second;
}

namespace {

std::optional<CommContext>& default_slot() {
    static std::optional<CommContext> context;
    return context;
}

CommContext& install_default(MPI_Comm comm, std::string_view mesh) {
    auto& slot = default_slot();
    if (slot) {
        throw ArgumentError(
            fmt::format("there is a default context already, over mesh '{}': destroy it first",
                        slot->mesh().to_string()));
    }
    slot.emplace(comm, mesh);
    static bool registered = false;
    if (!registered) {
        registered = true;
        mpi::at_finalize(mpi::FinalizePhase::release, destroy_default_context);
    }
    return *slot;
}

}  // namespace

CommContext& init_default_context(std::string_view mesh) {
    return install_default(MPI_COMM_WORLD, mesh);
}

CommContext& init_default_context(MPI_Comm comm, std::string_view mesh) {
    return install_default(comm, mesh);
}

CommContext& default_context() {
    if (!default_slot()) {
        throw ArgumentError(
            "there is no default context: call init_default_context(\"data=2,sequence=4\") first");
    }
    return *default_slot();
}

bool has_default_context() noexcept {
    return default_slot().has_value();
}

void destroy_default_context() {
    if (default_slot()) {
        default_slot()->destroy();
        default_slot().reset();
    }
}

}  // namespace plumb
