#include "support/job.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "support/job_sync.h"

namespace plumb::test {
namespace {

int world(int (*query)(MPI_Comm, int*)) {
    int value = 0;
    query(MPI_COMM_WORLD, &value);
    return value;
}

}  // namespace

int rank() {
    return world(MPI_Comm_rank);
}

int ranks() {
    return world(MPI_Comm_size);
}

std::chrono::seconds seconds_from(const char* variable, std::chrono::seconds otherwise) {
    const char* text = std::getenv(variable);
    const int value = text != nullptr ? std::atoi(text) : 0;
    return value > 0 ? std::chrono::seconds(value) : otherwise;
}

JobSync::JobSync() : grace_(seconds_from("PLUMB_TEST_GRACE", std::chrono::seconds(10))) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
}

JobSync::~JobSync() {
    MPI_Comm_free(&comm_);
}

std::optional<std::vector<int>> JobSync::failing_ranks(bool failed) {
    using Clock = std::chrono::steady_clock;
    const int mine = failed ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(ranks()));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm_, &request);

    // Sleeping between the looks leaves the cores to the ranks that still work.
    const auto start = Clock::now();
    auto pause = std::chrono::microseconds(20);
    for (int done = 0;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done != 0) break;
        if (failed && Clock::now() - start > grace_) return std::nullopt;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }

    std::vector<int> failing;
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (all[r] != 0) failing.push_back(static_cast<int>(r));
    }
    return failing;
}

}  // namespace plumb::test
