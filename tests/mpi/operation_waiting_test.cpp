// Peers that come late: timeouts, dropped handles, draining, and parsing of PLUMB_TIMEOUT.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/mpi/operation.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::TimeoutError;
using plumb::mpi::Seconds;
using plumb::mpi::wait;
using plumb::test::expected_numbers;
using plumb::test::make_channel;
using plumb::test::message_of;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::signal;
using plumb::test::start;

Numbers::Call call_of_this_rank() {
    Numbers::Call call;
    call.number = rank() + 1;
    return call;
}

void check_numbers(const Numbers& operation) {
    CHECK(operation.gathered() == expected_numbers(ranks(), 1, [](int r) { return r + 1; }));
}

/// Sets PLUMB_TIMEOUT's place in the process for one scope.
class DefaultTimeout {
  public:
    explicit DefaultTimeout(double seconds) { plumb::mpi::set_default_timeout(Seconds(seconds)); }
    ~DefaultTimeout() { plumb::mpi::set_default_timeout({}); }
    DefaultTimeout(const DefaultTimeout&) = delete;
    DefaultTimeout& operator=(const DefaultTimeout&) = delete;
};

std::string everyone() {
    return ranks() == 2 ? "0,1" : "0-" + std::to_string(ranks() - 1);
}

/// Finishes once it may post and is told to; counts how often it is asked for its order.
class Ordered final : public plumb::mpi::Pending {
  public:
    explicit Ordered(const bool& go) : go_(go) {}
    [[nodiscard]] std::string_view operation() const override { return "ordered"; }
    [[nodiscard]] Kind kind() const noexcept override { return Kind::message; }
    [[nodiscard]] std::string_view waits_for() const override { return "the word"; }
    [[nodiscard]] int questions() const noexcept { return questions_; }

  private:
    void start() override {}
    void move_on(bool may_post) override {
        if (may_post && go_) {
            mark_finished();
        }
    }
    [[nodiscard]] bool must_follow(const Pending&) const override {
        ++questions_;
        return false;
    }

    const bool& go_;
    mutable int questions_ = 0;
};

TEST_CASE("what is in flight is asked for its order once, however often it is polled") {
    const auto channel = make_channel("ring");
    bool go = false;
    std::vector<std::shared_ptr<Ordered>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(std::make_shared<Ordered>(go));
        plumb::mpi::submit(channel, all.back());
    }
    for (int i = 0; i < 20; ++i) {
        plumb::mpi::progress();
    }
    go = true;
    for (int i = 0; i < 20; ++i) {
        wait(*all[static_cast<std::size_t>(i)]);
        CHECK(all[static_cast<std::size_t>(i)]->questions() == i);  // those that were in flight before it
    }
}

TEST_CASE("a wait that runs out of time leaves the operation in flight") {
    if (ranks() == 1) {
        return;
    }
    const auto channel = make_channel("ring");
    std::shared_ptr<Numbers> operation;
    if (rank() == 0) {
        operation = start(channel, call_of_this_rank());
        const std::string text =
            "numbers on group 'ring' (ranks " + everyone() +
            "), rank 0: not complete after 0.05 s, still waiting for all ranks of the group to make the call";
        CHECK(message_of<TimeoutError>([&] { wait(*operation, Seconds(0.05)); }) == text);
        const DefaultTimeout limit(0.05);
        CHECK(message_of<TimeoutError>([&] { wait(*operation); }) == text);
        CHECK_FALSE(operation->finished());
        CHECK_FALSE(channel->idle());
        CHECK_THROWS_AS(wait(*operation, Seconds(0)), TimeoutError);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) {
        operation = start(channel, call_of_this_rank());
    }
    wait(*operation, Seconds(60));
    check_numbers(*operation);
}

TEST_CASE("the message says what an operation waits for") {
    if (ranks() == 1) {
        return;
    }
    const auto channel = make_channel("line", plumb::mpi::CheckLevel::local);
    if (rank() == 0) {
        const auto first = start(channel, call_of_this_rank());
        auto stepped = call_of_this_rank();
        stepped.steps = 2;
        const auto second = start(channel, stepped);
        const auto third = start(channel, call_of_this_rank());
        const auto waits_for = [](const Numbers& operation) {
            const auto text = message_of<TimeoutError>([&] { wait(operation, Seconds(0.01)); });
            return text.substr(text.find("still waiting for "));
        };
        CHECK(waits_for(*first) == "still waiting for its data");
        CHECK(waits_for(*second) == "still waiting for its data");
        CHECK(waits_for(*third) == "still waiting for earlier operations of the group");
        MPI_Barrier(MPI_COMM_WORLD);
        wait(*third);
        check_numbers(*third);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        start(channel, call_of_this_rank());
        auto stepped = call_of_this_rank();
        stepped.steps = 2;
        start(channel, stepped);
        wait(*start(channel, call_of_this_rank()));
    }
    plumb::mpi::drain(*channel);
}

TEST_CASE("a call never waits for a peer, at any check level") {
    if (ranks() == 1) {
        return;
    }
    for (const auto level : {plumb::mpi::CheckLevel::agree, plumb::mpi::CheckLevel::local}) {
        const auto channel = make_channel("eager", level);
        std::shared_ptr<Numbers> operation;
        if (rank() == 0) {
            operation = start(channel, call_of_this_rank());
        }
        for (int peer = 1; peer < ranks(); ++peer) {
            signal(0, peer);
        }
        if (rank() != 0) {
            operation = start(channel, call_of_this_rank());
        }
        wait(*operation);
        check_numbers(*operation);
    }
}

TEST_CASE("what nobody waits for is completed by draining") {
    const auto channel = make_channel("dropped");
    std::weak_ptr<Numbers> dropped;
    if (rank() == 0) {
        dropped = start(channel, call_of_this_rank());
    }
    for (int peer = 1; peer < ranks(); ++peer) {
        signal(0, peer);
    }
    if (rank() != 0) {
        dropped = start(channel, call_of_this_rank());
    }
    plumb::mpi::drain(*channel);
    CHECK(channel->idle());
    CHECK(dropped.expired());
}

TEST_CASE("a failure that nobody waits for disturbs nobody") {
    const auto channel = make_channel("dropped");
    for (int op = 0; op < 10; ++op) {
        auto call = call_of_this_rank();
        call.prepare_fails = rank() == ranks() - 1 && op % 2 == 0 ? "wrong" : "";
        start(channel, call);
    }
    CHECK_NOTHROW(plumb::mpi::drain(*channel));
    const auto operation = start(channel, call_of_this_rank());
    wait(*operation);
    check_numbers(*operation);
}

TEST_CASE("draining bounded by PLUMB_TIMEOUT can be repeated") {
    if (ranks() == 1) {
        return;
    }
    const auto channel = make_channel("slow");
    if (rank() == 0) {
        start(channel, call_of_this_rank());
        const DefaultTimeout limit(0.05);
        CHECK(message_of<TimeoutError>([&] { plumb::mpi::drain(*channel); }) ==
              "group 'slow' (ranks " + everyone() +
                  "), rank 0: operations that nobody waited for are not complete after 0.05 s");
        CHECK_FALSE(channel->idle());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) {
        start(channel, call_of_this_rank());
    }
    plumb::mpi::drain(*channel);
    CHECK(channel->idle());
}

TEST_CASE("a channel that everybody has dropped lives until its operations are complete") {
    auto channel = make_channel("orphan");
    const std::weak_ptr<plumb::mpi::Channel> watched(channel);
    start(channel, call_of_this_rank());
    start(channel, call_of_this_rank());
    channel.reset();
    plumb::mpi::drain_all();
    CHECK(watched.expired());
}

TEST_CASE("progress with nothing in flight") {
    CHECK_FALSE(plumb::mpi::progress());
    CHECK_NOTHROW(plumb::mpi::drain_all());
}

TEST_CASE("PLUMB_TIMEOUT") {
    const auto with = [](const char* value) {
        setenv("PLUMB_TIMEOUT", value, 1);
        return plumb::mpi::timeout_from_environment();
    };
    CHECK(with("2") == Seconds(2));
    CHECK(with("0.25") == Seconds(0.25));
    CHECK(with("1e3") == Seconds(1000));
    CHECK_FALSE(with(""));
    for (const std::string bad : {"0", "-1", "soon", "5s", "5 ", "1,5", "nan", "-0"}) {
        CHECK(message_of<plumb::EnvironmentError>([&] { static_cast<void>(with(bad.c_str())); }) ==
              "PLUMB_TIMEOUT is '" + bad + "', allowed is a positive number of seconds");
    }
    unsetenv("PLUMB_TIMEOUT");
    CHECK_FALSE(plumb::mpi::timeout_from_environment());
}

}  // namespace
