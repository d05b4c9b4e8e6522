#pragma once

#include <mpi.h>

#include <chrono>
#include <optional>
#include <vector>

namespace plumb::test {

/// Seconds from an environment variable, or a default where it is unset or no positive number.
[[nodiscard]] std::chrono::seconds seconds_from(const char* variable, std::chrono::seconds otherwise);

/// The ranks' common verdicts, exchanged over a private communicator that no test can disturb.
class JobSync {
  public:
    /// Collective over MPI_COMM_WORLD.
    JobSync();
    ~JobSync();
    JobSync(const JobSync&) = delete;
    JobSync& operator=(const JobSync&) = delete;

    /// Collective: the ranks that passed `failed` as true. Gives up (nullopt) where this rank failed and the
    /// others have not come within the grace time; a rank that passed waits (its watchdog bounds that).
    [[nodiscard]] std::optional<std::vector<int>> failing_ranks(bool failed);

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
    std::chrono::seconds grace_;
};

}  // namespace plumb::test
