#include <plumb/mpi/channel.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/core/log.h>
#include <plumb/mpi/environment.h>

namespace plumb::mpi {

namespace {

/// Guards every channel's lists, so that MPI_THREAD_MULTIPLE programs may call Plumb from several threads.
std::mutex& progress_lock() {
    static std::mutex lock;
    return lock;
}

/// The channels with something in flight. They are kept alive here: what nobody waits for is parked, not
/// lost.
std::vector<std::shared_ptr<Channel>>& active_channels() {
    static std::vector<std::shared_ptr<Channel>> channels;
    return channels;
}

struct Timeout {
    bool read = false;
    std::optional<Seconds> value;
};
Timeout& timeout_setting() {
    static Timeout setting;
    return setting;
}

std::optional<Seconds> read_timeout() {
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

void drain_at_finalize() {
    static bool registered = false;
    if (!registered) {
        registered = true;
        at_finalize(FinalizePhase::drain, drain_all);
    }
}

/// Polls `done` while progressing everything; calls `late` once the time is over.
template <class Done, class Late>
void poll_until(Done&& done, std::optional<Seconds> timeout, Late&& late) {
    using Clock = std::chrono::steady_clock;
    // A waiting rank yields nearly at once: with more ranks than cores, spinning takes the core from the very
    // rank that is waited for.
    constexpr int kPollsBeforeYield = 16;
    const auto start = Clock::now();
    for (int polls = 0; !done(); ++polls) {
        if (progress()) {
            continue;
        }
        if (polls >= kPollsBeforeYield) {
            std::this_thread::yield();
            if (timeout && Clock::now() - start > *timeout) {
                late();
            }
        }
    }
}

[[noreturn]] void throw_timeout(const Pending& pending, Seconds timeout) {
    const Channel& channel = pending.channel();
    throw TimeoutError(
        fmt::format("{} on group '{}' (ranks {}), rank {}: not complete after {:g} s, still waiting for {}",
                    pending.operation(), channel.group(), rank_list(channel.ranks()),
                    channel.caller().rank.value, timeout.count(), pending.waits_for()));
}

}  // namespace

Channel::Channel(Communicator data, Communicator agreement, std::string group, std::vector<GlobalRank> ranks,
                 CheckLevel level)
    : data_(std::move(data)),
      agreement_(std::move(agreement)),
      group_(std::move(group)),
      ranks_(std::move(ranks)),
      rank_(data_.rank()),
      level_(level) {}

Channel::~Channel() = default;

std::shared_ptr<void>& Channel::slot(const void* tag) {
    for (auto& [key, value] : slots_) {
        if (key == tag) {
            return value;
        }
    }
    return slots_.emplace_back(tag, nullptr).second;
}

bool Channel::advance() {
    bool any_finished = false;
    for (auto* list : {&collectives_, &messages_}) {
        for (std::size_t i = 0; i < list->size(); ++i) {
            Pending& pending = *(*list)[i];
            // The nearest one that must go first has itself waited for those before it.
            bool may_post = true;
            for (std::size_t k = i; k-- > 0;) {
                if (pending.must_follow(*(*list)[k])) {
                    may_post = (*list)[k]->posted();
                    break;
                }
            }
            try {
                pending.move_on(may_post);
            } catch (...) {
                pending.failure_ = std::current_exception();
                pending.mark_finished();
            }
            any_finished = any_finished || pending.finished();
        }
        std::erase_if(*list, [](const std::shared_ptr<Pending>& pending) { return pending->finished(); });
    }
    return any_finished;
}

void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending) {
    require_usable_mpi();
    const std::scoped_lock lock(progress_lock());
    drain_at_finalize();
    pending->channel_ = channel.get();
    pending->finished_ = false;
    pending->posted_ = false;
    pending->failure_ = nullptr;
    pending->start();
    if (pending->finished()) {
        return;
    }
    (pending->kind() == Pending::Kind::collective ? channel->collectives_ : channel->messages_)
        .push_back(pending);
    if (!channel->active_) {
        channel->active_ = true;
        active_channels().push_back(channel);
    }
}

bool progress() {
    const std::scoped_lock lock(progress_lock());
    auto& channels = active_channels();
    bool any_finished = false;
    for (std::size_t i = 0; i < channels.size(); ++i) {
        any_finished = channels[i]->advance() || any_finished;
    }
    if (any_finished) {
        std::erase_if(channels, [](const std::shared_ptr<Channel>& channel) {
            channel->active_ = !channel->idle();
            return !channel->active_;
        });
    }
    return any_finished;
}

void wait(const Pending& pending, std::optional<Seconds> timeout) {
    const auto limit = timeout ? timeout : default_timeout();
    poll_until([&] { return pending.finished(); }, limit, [&] { throw_timeout(pending, *limit); });
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
    while (!active_channels().empty()) {
        drain(*active_channels().front());
        progress();
    }
}

std::optional<Seconds> default_timeout() {
    Timeout& setting = timeout_setting();
    if (!setting.read) {
        setting.value = read_timeout();
        setting.read = true;
    }
    return setting.value;
}

void set_default_timeout(std::optional<Seconds> timeout) {
    timeout_setting() = {true, timeout};
}

}  // namespace plumb::mpi
