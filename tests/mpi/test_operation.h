#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <plumb/core/error.h>
#include <plumb/memory/storage.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/operation.h>

namespace plumb::test {

/// A channel over a duplicate of `comm`, whose ranks are numbered 0, 1, …
inline std::shared_ptr<mpi::Channel> make_channel(std::string name,
                                                  mpi::CheckLevel level = mpi::CheckLevel::agree,
                                                  MPI_Comm comm = MPI_COMM_WORLD) {
    auto data = mpi::Communicator::duplicate(comm);
    auto agreement = mpi::Communicator::duplicate(comm);
    std::vector<GlobalRank> ranks;
    for (int r = 0; r < data.size(); ++r) {
        ranks.emplace_back(r);
    }
    return std::make_shared<mpi::Channel>(std::move(data), std::move(agreement), std::move(name),
                                          std::move(ranks), level);
}

/// A collective that gathers one number of every rank in each of its steps, and can be told to go wrong.
class Numbers final : public mpi::Operation {
  public:
    struct Call {
        std::string_view name = "numbers";
        std::int64_t number = 0;  ///< what this rank contributes; step k gathers number + 1000000 * k
        std::int64_t equal = 0;   ///< must be the same on all ranks
        int steps = 1;
        std::string prepare_fails;  ///< the error of prepare(), if any
        std::string describe_fails;
        std::string complete_fails;
        std::int64_t to_next = 0;        ///< what it says to send to the next rank …
        std::int64_t from_previous = 0;  ///< … and to expect from the previous one
        std::uint64_t shares = 0;        ///< rank 0 tells the others this many bytes, to be allocated by all
        bool has_header = false;
        bool has_confirm = false;
        bool post_fails = false;       ///< after it has posted a receive from the next rank
        std::function<void()> at_end;  ///< runs when the operation dies
    };

    explicit Numbers(Call call) : call_(std::move(call)) {}
    ~Numbers() override {
        if (call_.at_end) {
            call_.at_end();
        }
    }

    [[nodiscard]] std::string_view operation() const override { return call_.name; }
    [[nodiscard]] const std::vector<std::int64_t>& gathered() const { return gathered_; }
    [[nodiscard]] std::size_t allocated() const { return memory_.size(); }
    [[nodiscard]] std::uint64_t told() const { return told_; }
    [[nodiscard]] std::int64_t received() const { return received_; }
    [[nodiscard]] int completions() const { return completions_; }
    [[nodiscard]] Call& call() { return call_; }

  private:
    [[nodiscard]] bool shares_header() const override { return call_.has_header; }
    [[nodiscard]] bool confirms() const override { return call_.has_confirm; }

    void prepare() override {
        if (!call_.prepare_fails.empty()) {
            throw ArgumentError(call_.prepare_fails);
        }
        sent_.clear();
        for (int step = 0; step < call_.steps; ++step) {
            sent_.push_back(call_.number + 1000000 * step);
        }
        gathered_.assign(sent_.size() * static_cast<std::size_t>(channel().size()), -1);
    }

    void describe(mpi::Signature& signature) const override {
        if (!call_.describe_fails.empty()) {
            throw ArgumentError(call_.describe_fails);
        }
        signature.field("equal", call_.equal);
        const int size = channel().size();
        signature.sends((channel().rank() + 1) % size, call_.to_next);
        signature.expects((channel().rank() + size - 1) % size, call_.from_previous);
    }

    [[nodiscard]] mpi::Header header() const override {
        mpi::Header words{};
        if (channel().rank() == 0) {
            words[0] = call_.shares;
            words[mpi::kHeaderWords - 1] = ~call_.shares;
        }
        return words;
    }

    void receive_header(const mpi::Header& words) override {
        told_ = words[0] == ~words[mpi::kHeaderWords - 1] ? words[0] : 0;
        if (call_.has_confirm) {
            memory_ = Storage::allocate(told_);
        }
    }

    Posted post(int step, mpi::RequestSet& requests) override {
        if (call_.post_fails) {
            mpi::check(MPI_Irecv(&received_, 1, MPI_INT64_T, (channel().rank() + 1) % channel().size(), 77,
                                 channel().data(), requests.next()),
                       "MPI_Irecv", channel().caller());
            throw ArgumentError("the second message cannot be posted");
        }
        const auto at = static_cast<std::size_t>(step);
        mpi::check(MPI_Iallgather(&sent_[at], 1, MPI_INT64_T,
                                  &gathered_[at * static_cast<std::size_t>(channel().size())], 1, MPI_INT64_T,
                                  channel().data(), requests.next()),
                   "MPI_Iallgather", channel().caller());
        return step + 1 == call_.steps ? Posted::all : Posted::more_to_come;
    }

    void complete() override {
        ++completions_;
        if (!call_.complete_fails.empty()) {
            throw ArgumentError(call_.complete_fails);
        }
    }

    Call call_;
    std::vector<std::int64_t> sent_;
    std::vector<std::int64_t> gathered_;
    Storage memory_;
    std::uint64_t told_ = 0;
    std::int64_t received_ = -1;
    int completions_ = 0;
};

/// What every rank gathers where rank r contributes `number(r)`, by formula.
template <class Number>
std::vector<std::int64_t> expected_numbers(int size, int steps, Number&& number) {
    std::vector<std::int64_t> all;
    for (int step = 0; step < steps; ++step) {
        for (int r = 0; r < size; ++r) {
            all.push_back(number(r) + std::int64_t{1000000} * step);
        }
    }
    return all;
}

inline std::shared_ptr<Numbers> start(const std::shared_ptr<mpi::Channel>& channel, Numbers::Call call) {
    auto operation = std::make_shared<Numbers>(std::move(call));
    mpi::submit(channel, operation);
    mpi::progress();
    return operation;
}

}  // namespace plumb::test
