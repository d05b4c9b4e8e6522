#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/core/rank.h>
#include <plumb/mpi/agreement.h>
#include <plumb/mpi/check.h>
#include <plumb/mpi/handles.h>

namespace plumb::mpi {

class Pending;

/// One group's wiring: its two private communicators, who is in it, and what is in flight on it.
///
/// Collective operations post their payload on `data()` strictly in the order in which they were submitted,
/// on every rank, whatever order their agreements complete in; that is what keeps any number of them in
/// flight correct. Agreements travel on their own communicator, where they are posted at submission; so do
/// messages between pairs, which MPI keeps apart from collectives.
class Channel {
  public:
    Channel(Communicator data, Communicator agreement, std::string group, std::vector<GlobalRank> ranks,
            CheckLevel level);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel();

    [[nodiscard]] MPI_Comm data() const noexcept { return data_.get(); }
    [[nodiscard]] MPI_Comm agreement() const noexcept { return agreement_.get(); }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] const std::vector<GlobalRank>& ranks() const noexcept { return ranks_; }
    [[nodiscard]] GlobalRank global_rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const std::string& group() const noexcept { return group_; }
    [[nodiscard]] CheckLevel check_level() const noexcept { return level_; }
    [[nodiscard]] Caller caller() const noexcept { return {group_, ranks_[static_cast<std::size_t>(rank_)]}; }
    [[nodiscard]] bool idle() const noexcept { return collectives_.empty() && messages_.empty(); }

    /// Whatever a layer above wants to keep with the group (plans, buffers for reuse), found by address of a
    /// tag. Freed when the channel is.
    [[nodiscard]] std::shared_ptr<void>& slot(const void* tag);

    /// Advances all that is in flight on this channel. Never throws, never waits: failures stay with their
    /// operation. Returns whether anything finished. Called with the progress lock held.
    bool advance();

  private:
    friend void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending);

    Communicator data_;
    Communicator agreement_;
    std::string group_;
    std::vector<GlobalRank> ranks_;
    int rank_ = 0;
    CheckLevel level_;
    bool active_ = false;  ///< listed among the channels that progress() visits
    std::vector<std::shared_ptr<Pending>> collectives_;
    std::vector<std::shared_ptr<Pending>> messages_;
    std::vector<std::pair<const void*, std::shared_ptr<void>>> slots_;

    friend bool progress();
};

/// Something in flight on a channel.
class Pending {
  public:
    enum class Kind { collective, message };

    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    virtual ~Pending() = default;

    [[nodiscard]] virtual std::string_view operation() const = 0;
    [[nodiscard]] virtual Kind kind() const noexcept = 0;
    /// What it waits for, for the message of a TimeoutError.
    [[nodiscard]] virtual std::string_view waits_for() const = 0;

    [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }
    /// Whether all its payload is posted, so that the next one's may be.
    [[nodiscard]] bool posted() const noexcept { return posted_; }
    /// The channel it is in flight on. Not to be called before submission, or once finished.
    [[nodiscard]] Channel& channel() const noexcept { return *channel_; }

  protected:
    /// First action, on the caller's thread, at submission. May throw: then nothing was posted and the
    /// operation is not in flight.
    virtual void start() = 0;
    /// Moves on as far as possible without waiting; payload only if `may_post`. May throw: that finishes it.
    virtual void move_on(bool may_post) = 0;
    /// Whether `earlier`, of the same kind and still to post, must post first.
    [[nodiscard]] virtual bool must_follow(const Pending& earlier) const = 0;

    void mark_posted() noexcept { posted_ = true; }
    void mark_finished() noexcept {
        posted_ = true;
        finished_.store(true, std::memory_order_release);
    }

  private:
    friend class Channel;
    friend void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending);

    Channel* channel_ = nullptr;          ///< alive while this is in flight: progress() keeps it
    std::atomic<bool> finished_ = false;  ///< set last, after failure_ and the results
    bool posted_ = false;
    std::exception_ptr failure_;
};

/// Starts `pending` and puts it in flight; it may be one that finished earlier and is used again.
/// Throws what its start() throws, and EnvironmentError if this thread may not call MPI.
void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending);

/// Advances everything in flight in this process once. Returns whether anything finished. Every call of Plumb
/// that communicates does this. Local.
bool progress();

using Seconds = std::chrono::duration<double>;

/// Progresses everything until `pending` has finished; rethrows its failure. Throws TimeoutError after
/// `timeout` (default: PLUMB_TIMEOUT), with the operation still in flight.
void wait(const Pending& pending, std::optional<Seconds> timeout = {});

/// Waits for all that is in flight on `channel`, failures set aside. Throws TimeoutError, as `wait`.
void drain(const Channel& channel);
/// The same for every channel of the process.
void drain_all();

/// PLUMB_TIMEOUT in seconds; none if unset. Throws EnvironmentError for a value that is not a positive
/// number.
[[nodiscard]] std::optional<Seconds> default_timeout();
/// Replaces it for this process (tests, programs with an option of their own).
void set_default_timeout(std::optional<Seconds> timeout);

}  // namespace plumb::mpi
