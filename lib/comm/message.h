#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/comm/send_recv.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/requests.h>
#include <plumb/tensor/tensor.h>

namespace plumb::comm {

/// What the two ends of a message tell each other before it moves. Goes over the wire as it is.
struct MessageHeader {
    std::uint64_t dtype = 0;
    std::int64_t ndim = 0;
    std::array<std::int64_t, kMaxDims> extents{};
    std::uint64_t failed = 0;
    std::array<char, 512> error{};  ///< why, zero-terminated

    [[nodiscard]] bool matches(const MessageHeader& other) const;
};

/// One message between this rank and another, from one end. Headers and data are posted in the order of
/// submission among messages of the same peer, tag and direction; nothing else holds it up. What fails
/// locally is thrown by wait, at every CheckLevel.
class Message : public mpi::Pending {
  public:
    /// `argument` is what the caller calls `op.peer`. Throws ArgumentError for a peer or tag that does not
    /// exist.
    Message(const mpi::Channel& channel, const P2POp& op, std::string_view argument);

    /// The call is wrong for a reason that only the caller knows. Before submission.
    void fail(std::string error) { preset_error_ = std::move(error); }

    [[nodiscard]] std::string_view operation() const final { return sends() ? "send" : "recv"; }
    [[nodiscard]] Kind kind() const noexcept final { return Kind::message; }
    [[nodiscard]] std::string_view waits_for() const final { return waits_for_; }

  protected:
    [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }

  private:
    enum class State { header, ready, data };

    [[nodiscard]] bool sends() const noexcept { return kind_ == P2PKind::send; }

    void start() final;
    void move_on(bool may_post) final;
    [[nodiscard]] bool must_follow(const Pending& earlier) const final;
    [[nodiscard]] mpi::RequestSet take_requests() noexcept final { return std::move(requests_); }

    void prepare();
    void describe();
    void post_header();
    void post_data();
    [[noreturn]] void throw_disagreement() const;

    P2PKind kind_;
    Tensor tensor_;
    int peer_;
    int tag_;
    std::string preset_error_;
    std::string waits_for_;
    State state_ = State::ready;
    std::exception_ptr local_failure_;
    MessageHeader mine_;
    MessageHeader theirs_;
    Tensor travelling_;  // the tensor, or its contiguous stand-in
    mpi::RequestSet requests_;
};

class Send final : public Message, public Outcome<Completion> {
  public:
    using Message::Message;
    [[nodiscard]] Completion result() const override { return Completion::done; }
};

class Receive final : public Message, public Outcome<Tensor> {
  public:
    using Message::Message;
    [[nodiscard]] Tensor result() const override { return tensor(); }
};

/// Finishes when all its messages, submitted before it, have.
class Batch final : public mpi::Pending, public Outcome<Completion> {
  public:
    explicit Batch(std::vector<std::shared_ptr<Message>> messages) : messages_(std::move(messages)) {}

    [[nodiscard]] Completion result() const override { return Completion::done; }
    [[nodiscard]] std::string_view operation() const override { return "batch_send_recv"; }
    [[nodiscard]] Kind kind() const noexcept override { return Kind::message; }
    [[nodiscard]] std::string_view waits_for() const override;

  private:
    void start() override {}
    void move_on(bool may_post) override;
    [[nodiscard]] bool must_follow(const Pending&) const override { return false; }

    std::vector<std::shared_ptr<Message>> messages_;
};

}  // namespace plumb::comm
