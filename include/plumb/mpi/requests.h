#pragma once

#include <cstddef>
#include <vector>

#include <mpi.h>

#include <plumb/mpi/check.h>

namespace plumb::mpi {

/// The requests of one step of an operation, tested together. Move-only. Keeps its capacity, so that a
/// repeated operation allocates nothing. MPI collectives cannot be cancelled: whoever owns a RequestSet keeps
/// it, and the buffers, until `test` has returned true.
class RequestSet {
  public:
    RequestSet() = default;
    RequestSet(RequestSet&&) noexcept = default;
    RequestSet& operator=(RequestSet&&) noexcept = default;
    RequestSet(const RequestSet&) = delete;
    RequestSet& operator=(const RequestSet&) = delete;
    ~RequestSet() = default;

    /// A place for the next request; valid until the next call of `next`.
    [[nodiscard]] MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
    [[nodiscard]] bool empty() const noexcept { return requests_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }

    /// Whether all are complete (then the set is empty again). Never waits. Throws MpiError.
    [[nodiscard]] bool test(const Caller& caller);
    /// Waits for all. Throws MpiError.
    void wait(const Caller& caller);

  private:
    std::vector<MPI_Request> requests_;
};

}  // namespace plumb::mpi
