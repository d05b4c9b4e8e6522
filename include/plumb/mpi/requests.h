#pragma once

#include <cstddef>
#include <utility>
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
    RequestSet(RequestSet&& other) noexcept
        : requests_(std::move(other.requests_)), done_(std::exchange(other.done_, 0)) {}
    RequestSet& operator=(RequestSet&& other) noexcept {
        requests_ = std::move(other.requests_);
        other.requests_.clear();
        done_ = std::exchange(other.done_, 0);
        return *this;
    }
    RequestSet(const RequestSet&) = delete;
    RequestSet& operator=(const RequestSet&) = delete;
    ~RequestSet() = default;

    /// A place for the next request; valid until the next call of `next`.
    [[nodiscard]] MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
    /// The requests not known to be complete.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return requests_.size() - done_; }

    /// Whether all are complete (then the set is empty again). Never waits. Throws the MpiError of the first
    /// request that failed; that one is gone then, the others stay in the set.
    [[nodiscard]] bool test(const Caller& caller);
    /// Waits for all. Throws MpiError, as `test`.
    void wait(const Caller& caller);

  private:
    void clear() noexcept;

    std::vector<MPI_Request> requests_;
    std::size_t done_ = 0;  ///< how many, from the front, are complete
};

}  // namespace plumb::mpi
