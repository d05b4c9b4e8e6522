#include <plumb/context/comm_context.h>

#include <algorithm>
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
    if (partition.empty()) {
        throw ArgumentError("partition is empty, it needs at least one group");
    }
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
    const auto world = mpi::private_duplicate(comm, "CommContext", "context");
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

void CommContext::add_mode(ParallelMode mode, mpi::Communicator data) {
    const auto values = mpi::ranks_within(data.get(), cartesian_.get());
    modes_.emplace_back(mode, Group(std::move(data), to_string(mode),
                                    std::vector<GlobalRank>(values.begin(), values.end()), level_));
}

void CommContext::add_axis_groups() {
    const auto& axes = mesh_.axes();
    const auto add = [&](ParallelMode mode, const std::vector<int>& remain) {
        MPI_Comm part = MPI_COMM_NULL;
        mpi::check(MPI_Cart_sub(cartesian_.get(), remain.data(), &part), "MPI_Cart_sub", {"context", rank_});
        add_mode(mode, mpi::Communicator(part));
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
    add_mode(ParallelMode::intra_node, std::move(intra));
    add_mode(ParallelMode::inter_node, split(cartesian_.get(), local_rank, rank_.value));
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
    for (const auto& [candidate, group] : named_) {
        if (candidate == name) {
            return group;
        }
    }
    std::vector<std::string> names;
    for (const auto& [mode, group] : modes_) {
        if (name == to_string(mode) || name == manifest_name(mode)) {
            return group;
        }
        names.push_back(to_string(mode));
    }
    for (const auto& entry : named_) {
        names.push_back(entry.first);
    }
    throw ArgumentError(fmt::format("there is no group '{}', allowed are {}", name, fmt::join(names, ", ")));
}

bool CommContext::is_taken(std::string_view name) const {
    const auto mode_name = [&](const auto& entry) {
        return name == to_string(entry.first) || name == manifest_name(entry.first);
    };
    return std::any_of(named_.begin(), named_.end(),
                       [&](const auto& entry) { return entry.first == name; }) ||
           std::any_of(modes_.begin(), modes_.end(), mode_name);
}

std::vector<int> CommContext::coordinates(GlobalRank rank) const {
    if (rank.value < 0 || rank.value >= world_size()) {
        throw ArgumentError(fmt::format("rank is {}, which is outside the context, allowed is 0 … {}",
                                        rank.value, world_size() - 1));
    }
    // Row-major, as MPI_Cart_create defines it; computed, for it must also work once MPI's communicator is
    // gone.
    const auto& axes = mesh_.axes();
    std::vector<int> coordinates(axes.size());
    int rest = rank.value;
    for (std::size_t a = axes.size(); a-- > 0;) {
        coordinates[a] = rest % axes[a].size;
        rest /= axes[a].size;
    }
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
    const int here = coordinates()[static_cast<std::size_t>(place - axes.begin())];
    int stride = 1;
    for (auto faster = place + 1; faster != axes.end(); ++faster) {
        stride *= faster->size;
    }
    Neighbours neighbours;
    if (here > 0) {
        neighbours.previous = GlobalRank(rank_.value - stride);
    }
    if (here + 1 < place->size) {
        neighbours.next = GlobalRank(rank_.value + stride);
    }
    return neighbours;
}

const Group& CommContext::init_group(std::string name, std::span<const GlobalRank> ranks) {
    const std::vector<GlobalRank> one(ranks.begin(), ranks.end());
    return init_groups(std::move(name), std::span(&one, 1));
}

const Group& CommContext::init_groups(std::string name, std::span<const std::vector<GlobalRank>> partition) {
    mpi::require_usable_mpi();
    if (!cartesian_) {
        throw ArgumentError(fmt::format("group '{}' cannot be made: the context was destroyed", name));
    }
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
        if (is_taken(name)) {
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
