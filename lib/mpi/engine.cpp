#include "mpi/engine.h"

#include <algorithm>
#include <utility>

#include <plumb/core/error.h>
#include <plumb/mpi/environment.h>

namespace plumb::mpi {

namespace {

/// A thread's right to call MPI does not change while MPI runs: asked once per thread, for this is in every
/// poll.
void require_usable_thread() {
    thread_local const bool usable = (require_usable_mpi(), true);
    static_cast<void>(usable);
}

}  // namespace

Engine& Engine::instance() {
    static auto& engine = *new Engine;  // never destroyed: contexts may be static objects
    return engine;
}

void Engine::submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending) {
    const std::scoped_lock lock(lock_);
    if (!drains_at_finalize_) {
        at_finalize(FinalizePhase::drain, drain_all);
        drains_at_finalize_ = true;
    }
    const bool listed = !channel->idle();
    if (!listed) {
        active_.push_back(channel);
    }
    try {
        channel->put_in_flight(pending);
    } catch (...) {
        if (!listed) {
            active_.pop_back();
        }
        throw;
    }
}

bool Engine::progress() {
    // What is finished is let go of without the lock: the deleter of a tensor may itself call Plumb.
    Spent spent;
    std::vector<Kept> done;
    {
        const std::scoped_lock lock(lock_);
        if (active_.empty() && (kept_.empty() || mpi_state() != MpiState::running)) {
            return false;
        }
        require_usable_thread();
        test_kept(done);
        std::swap(spent, spare_);
        for (const auto& channel : active_) {
            channel->advance(spent.finished);
        }
        if (spent.finished.empty()) {
            std::swap(spent, spare_);
            return false;
        }
        take_idle(spent.idle);
    }
    spent.finished.clear();
    spent.idle.clear();
    const std::scoped_lock lock(lock_);
    std::swap(spent, spare_);
    return true;
}

void Engine::take_idle(std::vector<std::shared_ptr<Channel>>& idle) {
    std::size_t kept = 0;
    for (auto& channel : active_) {
        if (channel->idle()) {
            idle.push_back(std::move(channel));
        } else {
            active_[kept++].swap(channel);
        }
    }
    active_.resize(kept);
}

void Engine::keep(RequestSet requests, std::shared_ptr<const void> buffers) {
    kept_.push_back({std::move(requests), std::move(buffers)});
}

void Engine::keep_late(RequestSet requests, std::shared_ptr<const void> buffers) {
    const std::scoped_lock lock(lock_);
    keep(std::move(requests), std::move(buffers));
}

void Engine::test_kept(std::vector<Kept>& done) {
    for (std::size_t i = kept_.size(); i-- > 0;) {
        bool complete = false;
        try {
            complete = kept_[i].requests.test({});
        } catch (const MpiError&) {
            complete = kept_[i].requests.empty();  // whoever waited for it was told of its first failure
        }
        if (complete) {
            done.push_back(std::move(kept_[i]));
            kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

std::shared_ptr<Channel> Engine::any_active() {
    const std::scoped_lock lock(lock_);
    return active_.empty() ? nullptr : active_.front();
}

void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending) {
    require_usable_mpi();
    Engine::instance().submit(channel, pending);
}

bool progress() {
    return Engine::instance().progress();
}

}  // namespace plumb::mpi
