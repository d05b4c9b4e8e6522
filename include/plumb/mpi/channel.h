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
#include <plumb/mpi/requests.h>

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
    /// Whether nothing is in flight.
    [[nodiscard]] bool idle() const noexcept { return in_flight_.load(std::memory_order_acquire) == 0; }

    /// Whatever a layer above wants to keep with the group (plans, buffers for reuse), found by address of a
    /// tag. Freed when the channel is.
    [[nodiscard]] std::shared_ptr<void>& slot(const void* tag);

  private:
    friend class Engine;
    using Line = std::vector<std::shared_ptr<Pending>>;

    void put_in_flight(const std::shared_ptr<Pending>& pending);
    static void keep_requests_of(const std::shared_ptr<Pending>& failed);
    void advance(Line& finished);
    void advance(Line& line, Line& finished);
    [[nodiscard]] Line& line_of(const Pending& pending) noexcept;
    [[nodiscard]] static std::shared_ptr<Pending> predecessor_in(const Line& line, const Pending& pending);

    Communicator data_;
    Communicator agreement_;
    std::string group_;
    std::vector<GlobalRank> ranks_;
    int rank_ = 0;
    CheckLevel level_;
    Line collectives_;
    Line messages_;
    std::atomic<std::size_t> in_flight_ = 0;  ///< in both lines; read without the lock
    std::vector<std::pair<const void*, std::shared_ptr<void>>> slots_;
};

/// Something in flight on a channel. Its hooks run with a lock held: they must not call what submits,
/// progresses or waits.
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
    /// First action, on the caller's thread, at submission. May throw: then the operation is not in flight.
    virtual void start() = 0;
    /// Moves on as far as possible without waiting; payload only if `may_post`. May throw: that finishes it.
    virtual void move_on(bool may_post) = 0;
    /// The requests that are still under way after start or move_on has thrown. They, and this object with
    /// its buffers, are kept until MPI is done with them.
    [[nodiscard]] virtual RequestSet take_requests() noexcept { return {}; }
    /// Whether `earlier`, of the same kind and in flight, must post first. Asked once, at submission, from
    /// the latest one backwards until one must.
    [[nodiscard]] virtual bool must_follow(const Pending& earlier) const = 0;

    void mark_posted() noexcept { posted_ = true; }
    void mark_finished() noexcept {
        posted_ = true;
        finished_.store(true, std::memory_order_release);
    }

  private:
    friend class Channel;
    friend class Engine;

    Channel* channel_ = nullptr;          ///< alive while this is in flight: progress() keeps it
    std::atomic<bool> finished_ = false;  ///< set last, after failure_ and the results
    bool posted_ = false;
    bool in_flight_ = false;
    std::shared_ptr<Pending> predecessor_;  ///< the one that must post first; null once it has
    std::exception_ptr failure_;
};

/// Starts `pending` and puts it in flight; it may be one that finished earlier and is used again.
/// Throws what its start() throws, ArgumentError if it is in flight already, and EnvironmentError if this
/// thread may not call MPI.
void submit(const std::shared_ptr<Channel>& channel, const std::shared_ptr<Pending>& pending);

/// Advances everything in flight in this process once. Returns whether anything finished. Every call of Plumb
/// that communicates does this. Local. Throws EnvironmentError if this thread may not call MPI; failures of
/// what is in flight stay with it.
bool progress();

using Seconds = std::chrono::duration<double>;

/// Progresses everything until `pending` has finished; rethrows its failure. Throws TimeoutError after
/// `timeout` (default: PLUMB_TIMEOUT), with the operation still in flight.
void wait(const Pending& pending, std::optional<Seconds> timeout = {});

/// Waits for all that is in flight on `channel`, failures set aside. Throws TimeoutError, as `wait`.
void drain(const Channel& channel);
/// The same for every channel of the process.
void drain_all();

/// Waits for a request that belongs to nothing in flight, for the making of contexts and groups, while
/// progressing everything: a peer may need that before it comes. Throws MpiError, and after PLUMB_TIMEOUT
/// TimeoutError naming `what`; then `buffers` are kept until MPI is done with them.
void wait_for(MPI_Request request, std::shared_ptr<const void> buffers, std::string_view what,
              const Caller& caller);
/// Returns once all ranks of `comm` have called this, and throws, as `wait_for`. Blocking calls of MPI that
/// follow then wait for nobody.
void meet(MPI_Comm comm, std::string_view what, const Caller& caller);
/// A duplicate of the user's communicator, once all its ranks have met. Throws ArgumentError unless `comm` is
/// an intracommunicator, and as `meet`.
[[nodiscard]] Communicator private_duplicate(MPI_Comm comm, std::string_view what, std::string_view group);

/// What PLUMB_TIMEOUT says now; none if unset. Throws EnvironmentError for a value that is not a positive
/// number.
[[nodiscard]] std::optional<Seconds> timeout_from_environment();
/// The bound of every wait: PLUMB_TIMEOUT as it was when first asked for. Throws as timeout_from_environment.
[[nodiscard]] std::optional<Seconds> default_timeout();
/// Replaces it for this process (tests, programs with an option of their own).
void set_default_timeout(std::optional<Seconds> timeout);

}  // namespace plumb::mpi
