#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/mpi/agreement.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/requests.h>

namespace plumb::mpi {

/// A collective operation of one group, from the caller's arguments to its result, as a state machine that
/// never waits. A derived class says what its call looks like, prepares, and posts its payload in steps:
///
///   prepare()         local checks, allocation, plans: everything that can throw. A throw becomes part of
///   the agreement. describe()        the arguments that must be equal on all ranks, or match between pairs.
///   [agreement]       one small collective. A mismatch raises the same AgreementError on every rank.
///   receive_header()  only where confirms(): what the root shared has arrived; allocate, then agree once
///   more. post(step)        the payload, step by step; each step's requests are complete before the next is
///   posted. complete()        after the last step: unpack, reduce.
///
/// At CheckLevel::local and off there is no agreement, except for operations that share a header.
class Operation : public Pending {
  public:
    [[nodiscard]] Kind kind() const noexcept final { return Kind::collective; }
    [[nodiscard]] std::string_view waits_for() const final;

  protected:
    enum class Posted { more_to_come, all };

    /// Whether some rank has words for the others without which the operation cannot run.
    [[nodiscard]] virtual bool shares_header() const { return false; }
    /// Whether receive_header() can fail, and so asks for a second agreement.
    [[nodiscard]] virtual bool confirms() const { return false; }

    virtual void prepare() = 0;
    virtual void describe(Signature& signature) const = 0;
    /// The words that this rank shares; zeros on ranks that share none.
    [[nodiscard]] virtual Header header() const { return {}; }
    virtual void receive_header(const Header&) {}
    /// Posts step `step` (0, 1, …) into `requests`; what must be kept until then is this object's.
    virtual Posted post(int step, RequestSet& requests) = 0;
    virtual void complete() {}

  private:
    enum class State { agreeing, ready, confirming, stepping, gathering_sizes, gathering_texts, done };

    void start() final;
    void move_on(bool may_post) final;
    [[nodiscard]] bool must_follow(const Pending&) const final { return true; }
    [[nodiscard]] RequestSet take_requests() noexcept final { return std::move(requests_); }

    template <class Action>
    void attempt(Action&& action);
    [[nodiscard]] AgreementRecord record();
    void post_record(MPI_Comm comm);
    void on_agreed();
    void begin(bool agreed);
    void post_step();
    void post_sizes();
    void post_texts();

    State state_ = State::done;
    int step_ = 0;
    bool exchange_ = false;   ///< whether the group agrees (or shares a header) on this call
    bool disagreed_ = false;  ///< the agreement failed; the explanation waits for its turn
    std::exception_ptr local_failure_;
    RequestSet requests_;
    AgreementRecord mine_;
    AgreementRecord combined_;
    std::string text_;
    int text_size_ = 0;
    std::vector<int> sizes_;
    std::vector<int> places_;
    std::string texts_;
};

}  // namespace plumb::mpi
