#include <plumb/context/group.h>

#include <algorithm>

#include <fmt/format.h>

#include <plumb/context/settings.h>
#include <plumb/core/error.h>
#include <plumb/core/log.h>
#include <plumb/mpi/environment.h>

namespace plumb {

namespace {

/// Agrees on the settings before a group is made with them.
CheckLevel agree_on_level(MPI_Comm comm, const std::string& name, const std::vector<GlobalRank>& ranks,
                          const CheckLevel* wanted) {
    CheckLevel level = CheckLevel::agree;
    mpi::agree(comm, name, ranks, [&](mpi::Signature& signature) {
        signature.field("operation", "Group");
        Settings settings = Settings::from_environment();
        if (wanted != nullptr) {
            settings.check_level = *wanted;
        }
        settings.describe(signature);
        level = settings.check_level;
    });
    return level;
}

}  // namespace

Group::Group(MPI_Comm comm, std::string name) : name_(std::move(name)) {
    make(comm, nullptr);
}

Group::Group(MPI_Comm comm, std::string name, CheckLevel level) : name_(std::move(name)) {
    make(comm, &level);
}

void Group::make(MPI_Comm comm, const CheckLevel* wanted) {
    mpi::require_usable_mpi();
    if (comm == MPI_COMM_NULL) {
        return;
    }
    auto data = mpi::private_duplicate(comm, "Group", name_);
    const auto values = mpi::ranks_within(comm, MPI_COMM_WORLD);
    std::vector<GlobalRank> ranks(values.begin(), values.end());
    const CheckLevel level = agree_on_level(data.get(), name_, ranks, wanted);
    *this = Group(std::move(data), std::move(name_), std::move(ranks), level);
}

Group::Group(mpi::Communicator data, std::string name, std::vector<GlobalRank> ranks, CheckLevel level)
    : name_(std::move(name)), ranks_(std::move(ranks)) {
    auto agreement = mpi::Communicator::duplicate(data.get());
    channel_ = std::make_shared<mpi::Channel>(std::move(data), std::move(agreement), name_, ranks_, level);
}

Group& Group::operator=(Group&& other) noexcept {
    if (this != &other) {
        Group old(std::move(*this));  // destroyed at the end of this block
        name_ = std::move(other.name_);
        ranks_ = std::move(other.ranks_);
        channel_ = std::move(other.channel_);
    }
    return *this;
}

Group::~Group() {
    try {
        destroy();
    } catch (const std::exception& error) {
        log(LogLevel::warning, error.what());
    }
}

void Group::destroy() {
    if (channel_ != nullptr) {
        if (!channel_->idle()) {
            mpi::drain(*channel_);
        }
        channel_.reset();
    }
}

GroupRank Group::rank() const {
    if (!is_member()) {
        throw ArgumentError(
            fmt::format("this rank is not a member of group '{}' (ranks {})", name_, mpi::rank_list(ranks_)));
    }
    return GroupRank(channel_->rank());
}

GlobalRank Group::global_rank(GroupRank rank) const {
    if (rank.value < 0 || rank.value >= size()) {
        throw ArgumentError(fmt::format("group rank {} is outside group '{}' of {} ranks, allowed is 0 … {}",
                                        rank.value, name_, size(), size() - 1));
    }
    return ranks_[static_cast<std::size_t>(rank.value)];
}

std::optional<GroupRank> Group::group_rank(GlobalRank rank) const noexcept {
    const auto place = std::find(ranks_.begin(), ranks_.end(), rank);
    if (place == ranks_.end()) {
        return {};
    }
    return GroupRank(static_cast<int>(place - ranks_.begin()));
}

CheckLevel Group::check_level() const noexcept {
    return channel_ != nullptr ? channel_->check_level() : CheckLevel::agree;
}

MPI_Comm Group::communicator() const noexcept {
    return channel_ != nullptr ? channel_->data() : MPI_COMM_NULL;
}

}  // namespace plumb
