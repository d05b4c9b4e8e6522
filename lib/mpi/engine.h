#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <plumb/mpi/channel.h>

namespace plumb::mpi {

/// Everything in flight in this process. One lock guards it all, so that MPI_THREAD_MULTIPLE programs may
/// call Plumb from several threads.
class Engine {
  public:
    static Engine& instance();

    void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending);
    bool progress();

    /// Keeps `buffers` until `requests` are complete: MPI collectives cannot be cancelled. Nobody waits for
    /// them. Called with the lock held.
    void keep(RequestSet requests, std::shared_ptr<const void> buffers);
    /// The same, called without the lock.
    void keep_late(RequestSet requests, std::shared_ptr<const void> buffers);

    /// Any channel with something in flight; null if there is none.
    [[nodiscard]] std::shared_ptr<Channel> any_active();

    /// Runs `action` while nothing moves.
    template <class Action>
    void hold(Action&& action) {
        const std::scoped_lock lock(lock_);
        action();
    }

  private:
    struct Kept {
        RequestSet requests;
        std::shared_ptr<const void> buffers;
    };

    /// What a round of progress lets go of.
    struct Spent {
        std::vector<std::shared_ptr<Pending>> finished;
        std::vector<std::shared_ptr<Channel>> idle;
    };

    Engine() = default;
    void test_kept(std::vector<Kept>& done);
    void take_idle(std::vector<std::shared_ptr<Channel>>& idle);

    std::mutex lock_;
    /// The channels with something in flight. They are kept alive here: what nobody waits for is parked, not
    /// lost.
    std::vector<std::shared_ptr<Channel>> active_;
    std::vector<Kept> kept_;
    Spent spare_;  ///< empty, its capacity is used again: a call that is repeated allocates nothing
    bool drains_at_finalize_ = false;
};

}  // namespace plumb::mpi
