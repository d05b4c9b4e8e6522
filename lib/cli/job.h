#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/mpi/environment.h>
#include <plumb/mpi/handles.h>

namespace plumb::cli {

/// The program as one job of all its ranks, over its own communicator: what the ranks tell each other about
/// the work, apart from the work itself. All members but rank, size and leads are collective over all ranks,
/// and throw MpiError.
class Job {
  public:
    /// Starts MPI. Throws EnvironmentError.
    Job(int& argc, char**& argv);
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job() = default;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    /// Whether this rank prints and writes files.
    [[nodiscard]] bool leads() const noexcept { return rank_ == 0; }
    [[nodiscard]] mpi::ThreadLevel thread_level() const noexcept { return environment_.thread_level(); }

    [[nodiscard]] bool all(bool mine) const;
    /// Every rank's words, rank after rank; as many on each.
    [[nodiscard]] std::vector<std::uint64_t> all_gather(std::span<const std::uint64_t> mine) const;
    /// Every rank's text, on every rank.
    [[nodiscard]] std::vector<std::string> all_gather(std::string_view mine) const;
    /// Throws CannotRun on every rank if any has a problem: the lowest such rank's, which is named unless all
    /// have one.
    void require_none(const std::optional<std::string>& problem) const;

    /// Ends all ranks at once, with exit code 1: for when a peer may be waiting for what will never come.
    [[noreturn]] static void abort();

  private:
    mpi::Environment environment_;  // first: what follows needs MPI
    mpi::Communicator world_;
    int rank_ = 0;
    int size_ = 1;
};

}  // namespace plumb::cli
