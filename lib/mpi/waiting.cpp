#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>

#include "mpi/engine.h"

namespace plumb::mpi {

namespace {

struct Timeout {
    std::mutex lock;
    bool read = false;
    std::optional<Seconds> value;
};
Timeout& timeout_setting() {
    static auto& setting = *new Timeout;
    return setting;
}

/// Polls `done` while progressing everything; calls `late` once the time is over.
template <class Done, class Late>
void poll_until(Done&& done, std::optional<Seconds> timeout, Late&& late) {
    using Clock = std::chrono::steady_clock;
    // A waiting rank yields nearly at once: with more ranks than cores, spinning takes the core from the very
    // rank that is waited for.
    constexpr int kPollsBeforeYield = 16;
    const auto start = timeout ? Clock::now() : Clock::time_point{};
    for (int idle_polls = 0; !done();) {
        if (progress()) {
            idle_polls = 0;
        } else if (++idle_polls >= kPollsBeforeYield) {
            idle_polls = kPollsBeforeYield;
            std::this_thread::yield();
        }
        if (timeout && Clock::now() - start > *timeout && !done()) {
            late();
        }
    }
}

/// What is made with an unusable PLUMB_TIMEOUT agrees on the settings first: thrown before, its error would
/// leave the peers waiting.
std::optional<Seconds> timeout_or_none() {
    try {
        return default_timeout();
    } catch (const EnvironmentError&) {
        return {};
    }
}

void throw_timeout(const Pending& pending, Seconds timeout) {
    // Under the lock: another thread may be about to finish it, and then its channel may be gone.
    Engine::instance().hold([&] {
        if (pending.finished()) {
            return;
        }
        const Channel& channel = pending.channel();
        throw TimeoutError(fmt::format(
            "{} on group '{}' (ranks {}), rank {}: not complete after {:g} s, still waiting for {}",
            pending.operation(), channel.group(), rank_list(channel.ranks()), channel.caller().rank.value,
            timeout.count(), pending.waits_for()));
    });
}

}  // namespace

void wait(const Pending& pending, std::optional<Seconds> timeout) {
    if (!pending.finished()) {
        const auto limit = timeout ? timeout : default_timeout();
        poll_until([&] { return pending.finished(); }, limit, [&] { throw_timeout(pending, *limit); });
    }
    if (pending.failure()) {
        std::rethrow_exception(pending.failure());
    }
}

void drain(const Channel& channel) {
    const auto limit = default_timeout();
    poll_until(
        [&] { return channel.idle(); }, limit,
        [&] {
            throw TimeoutError(fmt::format(
                "group '{}' (ranks {}), rank {}: operations that nobody waited for are not complete "
                "after {:g} s",
                channel.group(), rank_list(channel.ranks()), channel.caller().rank.value, limit->count()));
        });
}

void drain_all() {
    while (const auto channel = Engine::instance().any_active()) {
        drain(*channel);
    }
}

void wait_for(MPI_Request request, std::shared_ptr<const void> buffers, std::string_view what,
              const Caller& caller) {
    const std::optional<Seconds> limit = timeout_or_none();
    const auto done = [&] {
        int flag = 0;
        check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test", caller);
        return flag != 0;
    };
    poll_until(done, limit, [&] {
        RequestSet requests;
        *requests.next() = request;
        Engine::instance().keep_late(std::move(requests), std::move(buffers));
        throw TimeoutError(
            fmt::format("{} on group '{}', rank {}: not complete after {:g} s, still waiting for all ranks "
                        "to make the call",
                        what, caller.group, caller.rank.value, limit->count()));
    });
}

void meet(MPI_Comm comm, std::string_view what, const Caller& caller) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm, &request), "MPI_Ibarrier", caller);
    wait_for(request, nullptr, what, caller);
}

Communicator private_duplicate(MPI_Comm comm, std::string_view what, std::string_view group) {
    if (comm == MPI_COMM_NULL) {
        throw ArgumentError("comm is MPI_COMM_NULL, allowed is an intracommunicator");
    }
    int between_groups = 0;
    check(MPI_Comm_test_inter(comm, &between_groups), "MPI_Comm_test_inter", world_caller());
    if (between_groups != 0) {
        throw ArgumentError("comm is an intercommunicator, allowed is an intracommunicator");
    }
    meet(comm, what, {group, world_caller().rank});
    return Communicator::duplicate(comm);
}

std::optional<Seconds> timeout_from_environment() {
    const char* text = std::getenv("PLUMB_TIMEOUT");
    if (text == nullptr || *text == '\0') {
        return {};
    }
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0)) {
        throw EnvironmentError(
            fmt::format("PLUMB_TIMEOUT is '{}', allowed is a positive number of seconds", text));
    }
    return Seconds(seconds);
}

std::optional<Seconds> default_timeout() {
    Timeout& setting = timeout_setting();
    const std::scoped_lock lock(setting.lock);
    if (!setting.read) {
        setting.value = timeout_from_environment();
        setting.read = true;
    }
    return setting.value;
}

void set_default_timeout(std::optional<Seconds> timeout) {
    Timeout& setting = timeout_setting();
    const std::scoped_lock lock(setting.lock);
    setting.value = timeout;
    setting.read = true;
}

}  // namespace plumb::mpi
