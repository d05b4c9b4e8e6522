#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>

namespace plumb {

using mpi::Seconds;

/// What a collective without a result of its own (barrier, send, …) returns. A rank that is not in the group
/// did nothing. Collectives with a tensor as result return that; to a rank that is not in the group, an
/// undefined one.
enum class Completion { not_in_group, done };

enum class AsyncState { not_in_group, pending, done, failed };

/// Where an operation leaves its result; for those who write operations.
template <class T>
class Outcome {
  public:
    Outcome() = default;
    Outcome(const Outcome&) = delete;
    Outcome& operator=(const Outcome&) = delete;
    virtual ~Outcome() = default;
    /// Called only once the operation has finished without failure.
    [[nodiscard]] virtual T result() const = 0;
};

/// The handle of a collective that is under way; move-only. It owns what is in flight: tensors given to the
/// call may be dropped right after it, and may be overwritten after `wait`. All members are local: they
/// progress everything in flight in this process, and need the peers only in so far as `wait` waits for them.
///
/// Dropping an unfinished handle is safe: MPI collectives cannot be cancelled, so the operation and its
/// buffers stay with the Environment, and are completed when the group is destroyed or MPI finalised.
template <class T>
class [[nodiscard]] Async {
  public:
    /// The handle of a rank that is not in the group.
    Async() = default;
    template <class Operation>
    explicit Async(const std::shared_ptr<Operation>& operation) : pending_(operation), outcome_(operation) {}
    Async(Async&&) noexcept = default;
    Async& operator=(Async&&) noexcept = default;
    Async(const Async&) = delete;
    Async& operator=(const Async&) = delete;
    ~Async() = default;

    /// As far as is known; does not progress.
    [[nodiscard]] AsyncState state() const noexcept {
        if (pending_ == nullptr) {
            return AsyncState::not_in_group;
        }
        if (!pending_->finished()) {
            return AsyncState::pending;
        }
        return pending_->failure() ? AsyncState::failed : AsyncState::done;
    }

    /// Progresses; whether it has finished (well or not) or there is nothing to wait for. Never waits, never
    /// throws what the operation failed with: `wait` does.
    bool test() {
        if (pending_ != nullptr && !pending_->finished()) {
            mpi::progress();
        }
        return pending_ == nullptr || pending_->finished();
    }

    /// Waits and returns the result; a default-made T on a rank that is not in the group. Throws what the
    /// operation failed with (AgreementError, MpiError, …), and TimeoutError after `timeout` (default:
    /// PLUMB_TIMEOUT), which leaves the handle valid: it may be waited for again. May be called again after
    /// success.
    T wait() { return wait_for({}); }
    T wait(Seconds timeout) { return wait_for(timeout); }

  private:
    T wait_for(std::optional<Seconds> timeout) {
        if (pending_ == nullptr) {
            return T{};
        }
        mpi::wait(*pending_, timeout);
        return outcome_->result();
    }

    std::shared_ptr<mpi::Pending> pending_;
    std::shared_ptr<Outcome<T>> outcome_;
};

}  // namespace plumb
