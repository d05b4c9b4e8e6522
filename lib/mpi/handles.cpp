#include <plumb/mpi/handles.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include <plumb/mpi/check.h>

namespace plumb::mpi {

namespace {

/// Every communicator that Plumb owns, so that none outlives MPI, whoever holds it then.
struct Registry {
    std::mutex lock;
    std::vector<MPI_Comm> live;
    bool registered = false;
    bool released = false;  ///< all were freed at the start of MPI_Finalize
};

Registry& registry() {
    static auto& instance = *new Registry;  // never destroyed: owners may be static objects
    return instance;
}

void release_all() {
    Registry& known = registry();
    const std::scoped_lock lock(known.lock);
    known.released = true;
    for (auto comm = known.live.rbegin(); comm != known.live.rend(); ++comm) {
        MPI_Comm_free(&*comm);
    }
    known.live.clear();
}

void remember(MPI_Comm comm) {
    Registry& known = registry();
    const std::scoped_lock lock(known.lock);
    if (!known.registered) {
        at_finalize(FinalizePhase::release, release_all);
        known.registered = true;
    }
    known.live.push_back(comm);
}

}  // namespace

void CommunicatorTraits::free(Raw& raw) noexcept {
    Registry& known = registry();
    {
        const std::scoped_lock lock(known.lock);
        if (known.released) {
            return;
        }
        const auto place = std::find(known.live.rbegin(), known.live.rend(), raw);
        if (place != known.live.rend()) {
            known.live.erase(std::next(place).base());
        }
    }
    MPI_Comm_free(&raw);
}

Communicator::Communicator(MPI_Comm raw) : Owned(raw) {
    if (raw != MPI_COMM_NULL) {
        check(MPI_Comm_set_errhandler(raw, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", world_caller());
        remember(raw);
    }
}

Communicator Communicator::duplicate(MPI_Comm other) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(other, &copy), "MPI_Comm_dup", world_caller());
    return Communicator(copy);
}

int Communicator::rank() const {
    int rank = 0;
    check(MPI_Comm_rank(get(), &rank), "MPI_Comm_rank", world_caller());
    return rank;
}

int Communicator::size() const {
    int size = 0;
    check(MPI_Comm_size(get(), &size), "MPI_Comm_size", world_caller());
    return size;
}

std::vector<int> ranks_within(MPI_Comm comm, MPI_Comm reference) {
    const auto group_of = [](MPI_Comm any) {
        MPI_Group group = MPI_GROUP_NULL;
        check(MPI_Comm_group(any, &group), "MPI_Comm_group", world_caller());
        return ProcessGroup(group);
    };
    const ProcessGroup from = group_of(comm);
    const ProcessGroup to = group_of(reference);
    int size = 0;
    check(MPI_Group_size(from.get(), &size), "MPI_Group_size", world_caller());
    std::vector<int> positions(static_cast<std::size_t>(size));
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<int> ranks(positions.size());
    check(MPI_Group_translate_ranks(from.get(), size, positions.data(), to.get(), ranks.data()),
          "MPI_Group_translate_ranks", world_caller());
    return ranks;
}

}  // namespace plumb::mpi
