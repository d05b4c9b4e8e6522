// Operations that go wrong on some ranks.
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/memory/storage.h>
#include <plumb/mpi/operation.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::AgreementError;
using plumb::ArgumentError;
using plumb::mpi::Channel;
using plumb::mpi::CheckLevel;
using plumb::mpi::wait;
using plumb::test::check_same_on_all_ranks;
using plumb::test::expected_numbers;
using plumb::test::make_channel;
using plumb::test::message_of;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::start;

Numbers::Call good_call() {
    Numbers::Call call;
    call.number = 11 * rank() + 3;
    call.steps = 2;
    return call;
}

void check_good(const Numbers& operation) {
    CHECK(operation.gathered() == expected_numbers(ranks(), 2, [](int r) { return 11 * r + 3; }));
}

void check_usable(const std::shared_ptr<Channel>& channel) {
    CHECK(channel->idle());
    const auto operation = start(channel, good_call());
    wait(*operation);
    check_good(*operation);
}

/// "(ranks 0,1)", "(ranks 0-3)".
std::string everyone() {
    return ranks() == 1   ? "(rank 0)"
           : ranks() == 2 ? "(ranks 0,1)"
                          : "(ranks 0-" + std::to_string(ranks() - 1) + ")";
}

std::string failure_of(const std::shared_ptr<Numbers>& operation) {
    auto text = message_of<AgreementError>([&] { wait(*operation); });
    CHECK(operation->finished());
    CHECK(operation->failure());
    // Asking again gives the same answer.
    CHECK(message_of<AgreementError>([&] { wait(*operation); }) == text);
    CHECK(operation->completions() == 0);
    check_same_on_all_ranks(text);
    return text;
}

TEST_CASE("an argument that differs on one rank") {
    const auto channel = make_channel("ring");
    if (ranks() > 2) {
        auto call = good_call();
        call.equal = rank() == 1 ? 9 : 4;
        const auto text = failure_of(start(channel, call));
        CHECK(text == (ranks() == 3
                           ? "numbers on group 'ring' (ranks 0-2): the ranks disagree: equal is 4 on "
                             "ranks 0,2, 9 on rank 1"
                           : "numbers on group 'ring' (ranks 0-3): the ranks disagree: equal is 4 on "
                             "ranks 0,2,3, 9 on rank 1"));
    }
    check_usable(channel);
}

TEST_CASE("an error of one rank alone, from prepare and from describe") {
    const auto channel = make_channel("ring");
    const int last = ranks() - 1;
    for (const bool in_describe : {false, true}) {
        auto call = good_call();
        if (rank() == last) {
            (in_describe ? call.describe_fails : call.prepare_fails) = "dim is 3, allowed is 0 … 2";
        }
        const auto text = failure_of(start(channel, call));
        CHECK(text == "numbers on group 'ring' " + everyone() + ": rank " + std::to_string(last) +
                          ": dim is 3, allowed is 0 … 2");
        check_usable(channel);
    }
}

TEST_CASE("different operations on different ranks") {
    const auto channel = make_channel("ring");
    auto call = good_call();
    if (rank() == 0) {
        call.name = "letters";
    }
    if (ranks() > 1) {
        const auto text = failure_of(start(channel, call));
        const std::string rest = ranks() == 2 ? "rank 1" : ranks() == 3 ? "ranks 1,2" : "ranks 1-3";
        CHECK(text == "letters / numbers on group 'ring' " + everyone() +
                          ": the ranks disagree: operation is letters on rank 0, numbers on " + rest);
    }
    check_usable(channel);
}

TEST_CASE("amounts that do not match between a pair") {
    const auto channel = make_channel("ring");
    auto call = good_call();
    call.to_next = 5 + rank();
    call.from_previous = 5 + (rank() + ranks() - 1) % ranks();
    wait(*start(channel, call));

    const int last = ranks() - 1;
    if (rank() == last) {
        ++call.to_next;
    }
    const auto text = failure_of(start(channel, call));
    CHECK(text == "numbers on group 'ring' " + everyone() + ": rank " + std::to_string(last) + " sends " +
                      std::to_string(5 + last + 1) + " to rank 0, which expects " + std::to_string(5 + last));
    check_usable(channel);
}

TEST_CASE("failing operations among good ones, all in flight together") {
    const auto channel = make_channel("mixed");
    constexpr int kOperations = 90;
    const int culprit = ranks() > 1 ? 1 : 0;
    for (const bool backwards : {false, true}) {
        std::vector<std::shared_ptr<Numbers>> operations;
        for (int op = 0; op < kOperations; ++op) {
            auto call = good_call();
            if (op % 3 == 1 && rank() == culprit) {
                call.prepare_fails = "argument " + std::to_string(op) + " is wrong";
            } else if (op % 5 == 2) {
                call.equal = rank() == culprit ? 1000 + op : op;
            }
            operations.push_back(start(channel, call));
        }
        for (int turn = 0; turn < kOperations; ++turn) {
            const int op = backwards ? kOperations - 1 - turn : turn;
            const auto& operation = operations[static_cast<std::size_t>(op)];
            if (op % 3 == 1) {
                const auto text = message_of<AgreementError>([&] { wait(*operation); });
                CHECK(text == "numbers on group 'mixed' " + everyone() + ": rank " + std::to_string(culprit) +
                                  ": argument " + std::to_string(op) + " is wrong");
            } else if (op % 5 == 2 && ranks() > 1) {
                const auto text = message_of<AgreementError>([&] { wait(*operation); });
                check_same_on_all_ranks(text);
                CHECK(text.find(std::to_string(1000 + op) + " on rank 1") != std::string::npos);
            } else {
                wait(*operation);
                check_good(*operation);
            }
        }
        CHECK(channel->idle());
    }
}

TEST_CASE("memory that one rank does not get") {
    for (const auto level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const auto channel = make_channel("memory", level);
        const int poor = ranks() - 1;
        auto call = good_call();
        call.has_header = true;
        call.has_confirm = true;
        call.shares = rank() == 0 ? 100000 : 0;
        // Others before and behind it are not disturbed.
        const auto before = start(channel, good_call());
        const auto limit = plumb::allocation_limit();
        if (rank() == poor) {
            plumb::set_allocation_limit(99999);
        }
        const auto operation = start(channel, call);
        const auto behind = start(channel, good_call());
        CHECK(failure_of(operation) == "numbers on group 'memory' " + everyone() + ": rank " +
                                           std::to_string(poor) + ": out of memory");
        plumb::set_allocation_limit(limit);
        wait(*behind);
        wait(*before);
        check_good(*before);
        check_good(*behind);

        const auto again = start(channel, call);
        wait(*again);
        CHECK(again->allocated() == 100000);
        check_usable(channel);
    }
}

TEST_CASE("without agreement nobody notices, and a rank's own error is thrown at once") {
    for (const auto level : {CheckLevel::local, CheckLevel::off}) {
        const auto channel = make_channel("alone", level);
        auto call = good_call();
        call.equal = rank();  // differs, and nobody asks
        const auto operation = start(channel, call);
        wait(*operation);
        check_good(*operation);

        call.prepare_fails = "input is undefined";
        auto wrong = std::make_shared<Numbers>(call);
        CHECK(message_of<ArgumentError>([&] { plumb::mpi::submit(channel, wrong); }) == "input is undefined");
        CHECK_FALSE(wrong->finished());
        check_usable(channel);
    }
}

TEST_CASE("a failure after the payload is this rank's alone; the group stays usable") {
    const auto channel = make_channel("late");
    auto call = good_call();
    if (rank() == 0) {
        call.complete_fails = "cannot unpack";
    }
    const auto operation = start(channel, call);
    if (rank() == 0) {
        CHECK(message_of<ArgumentError>([&] { wait(*operation); }) == "cannot unpack");
    } else {
        wait(*operation);
        check_good(*operation);
    }
    check_usable(channel);
}

TEST_CASE("an operation that fails with requests under way is kept until MPI is done with them") {
    const auto channel = make_channel("half posted");
    auto call = good_call();
    call.post_fails = true;
    auto operation = start(channel, call);
    CHECK(message_of<ArgumentError>([&] { wait(*operation); }) == "the second message cannot be posted");
    CHECK(channel->idle());
    std::weak_ptr<Numbers> kept(operation);
    operation.reset();
    plumb::mpi::progress();
    CHECK_FALSE(kept.expired());  // its receive is posted still

    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t value = 40 + rank();
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Isend(&value, 1, MPI_INT64_T, (rank() + ranks() - 1) % ranks(), 77, channel->data(), &sending);
    std::int64_t received = -1;
    while (const auto alive = kept.lock()) {
        plumb::mpi::progress();
        received = alive->received();
    }
    CHECK(received == 40 + (rank() + 1) % ranks());
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

/// Posts a receive from the next rank as its first action, and then fails.
class FailsAtStart final : public plumb::mpi::Pending {
  public:
    [[nodiscard]] std::string_view operation() const override { return "fails at start"; }
    [[nodiscard]] Kind kind() const noexcept override { return Kind::message; }
    [[nodiscard]] std::string_view waits_for() const override { return "nothing"; }
    [[nodiscard]] std::int64_t received() const { return received_; }

  private:
    void start() override {
        MPI_Irecv(&received_, 1, MPI_INT64_T, (channel().rank() + 1) % channel().size(), 78, channel().data(),
                  requests_.next());
        throw ArgumentError("no");
    }
    void move_on(bool) override {}
    [[nodiscard]] bool must_follow(const Pending&) const override { return false; }
    [[nodiscard]] plumb::mpi::RequestSet take_requests() noexcept override { return std::move(requests_); }

    std::int64_t received_ = -1;
    plumb::mpi::RequestSet requests_;
};

TEST_CASE("the same if it fails at its start") {
    const auto channel = make_channel("half started");
    auto operation = std::make_shared<FailsAtStart>();
    CHECK(message_of<ArgumentError>([&] { plumb::mpi::submit(channel, operation); }) == "no");
    CHECK(channel->idle());
    const std::weak_ptr<FailsAtStart> kept(operation);
    operation.reset();
    CHECK_FALSE(kept.expired());
    const std::int64_t value = 50 + rank();
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Isend(&value, 1, MPI_INT64_T, (rank() + ranks() - 1) % ranks(), 78, channel->data(), &sending);
    std::int64_t received = -1;
    while (const auto alive = kept.lock()) {
        plumb::mpi::progress();
        received = alive->received();
    }
    CHECK(received == 50 + (rank() + 1) % ranks());
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
}

TEST_CASE("what an operation lets go of at its end may call Plumb") {
    const auto channel = make_channel("reentrant");
    bool ended = false;
    auto call = good_call();
    call.at_end = [&] {
        plumb::mpi::progress();
        ended = true;
    };
    auto operation = start(channel, call);
    operation.reset();
    plumb::mpi::drain(*channel);
    CHECK(ended);
    check_usable(channel);
}

}  // namespace
