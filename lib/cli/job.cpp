#include "cli/job.h"

#include <algorithm>
#include <cstdio>
#include <thread>

#include <fmt/format.h>
#include <mpi.h>

#include <plumb/mpi/agreement.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/check.h>

#include "cli/errors.h"

namespace plumb::cli {

namespace {

/// Waits without keeping the core from the ranks that are waited for.
void finish(MPI_Request& request) {
    int done = 0;
    while (true) {
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", mpi::world_caller());
        if (done != 0) return;
        mpi::progress();
        std::this_thread::yield();
    }
}

}  // namespace

Job::Job(int& argc, char**& argv)
    : environment_(argc, argv),
      world_(mpi::Communicator::duplicate(MPI_COMM_WORLD)),
      rank_(world_.rank()),
      size_(world_.size()) {}

bool Job::all(bool mine) const {
    const int value = mine ? 1 : 0;
    int least = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Iallreduce(&value, &least, 1, MPI_INT, MPI_MIN, world_.get(), &request), "MPI_Iallreduce",
               mpi::world_caller());
    finish(request);
    return least != 0;
}

std::vector<std::uint64_t> Job::all_gather(std::span<const std::uint64_t> mine) const {
    std::vector<std::uint64_t> words(mine.size() * static_cast<std::size_t>(size_));
    const int count = static_cast<int>(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Iallgather(mine.data(), count, MPI_UINT64_T, words.data(), count, MPI_UINT64_T,
                              world_.get(), &request),
               "MPI_Iallgather", mpi::world_caller());
    finish(request);
    return words;
}

std::vector<std::string> Job::all_gather(std::string_view mine) const {
    // Far below what an int can count, whatever a case puts into its messages.
    constexpr std::size_t kMostBytes = 1U << 16U;
    mine = mine.substr(0, std::max<std::size_t>(kMostBytes, (1U << 30U) / static_cast<unsigned>(size_)));
    const std::uint64_t length = mine.size();
    std::vector<int> sizes;
    for (const std::uint64_t bytes : all_gather(std::span(&length, 1)))
        sizes.push_back(static_cast<int>(bytes));
    const std::vector<int> places = mpi::displacements(sizes);
    std::string joined(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Iallgatherv(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, joined.data(),
                               sizes.data(), places.data(), MPI_CHAR, world_.get(), &request),
               "MPI_Iallgatherv", mpi::world_caller());
    finish(request);
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < sizes.size(); ++r)
        texts.push_back(
            joined.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(sizes[r])));
    return texts;
}

void Job::require_none(const std::optional<std::string>& problem) const {
    if (all(!problem)) return;
    const std::vector<std::string> texts = all_gather(problem ? "!" + *problem : std::string());
    const auto failed = [](const std::string& text) { return !text.empty(); };
    const auto first = std::find_if(texts.begin(), texts.end(), failed);
    if (std::all_of(texts.begin(), texts.end(), failed)) throw CannotRun(first->substr(1));
    throw CannotRun(fmt::format("rank {}: {}", first - texts.begin(), first->substr(1)));
}

void Job::abort() {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, kSomethingFailed);
    std::abort();  // MPI_Abort does not return
}

}  // namespace plumb::cli
