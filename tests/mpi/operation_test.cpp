// Operations that go well: any number in flight, in any order of waiting.
#include <plumb/mpi/operation.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::mpi::Channel;
using plumb::mpi::CheckLevel;
using plumb::mpi::wait;
using plumb::test::expected_numbers;
using plumb::test::make_channel;
using plumb::test::message_of;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::start;

std::int64_t number(int r, int op) {
    return 100 * op + 7 * r + 1;
}

Numbers::Call call_of(int op) {
    Numbers::Call call;
    call.number = number(rank(), op);
    call.equal = op;
    call.steps = 1 + op % 3;
    return call;
}

void check_numbers(const Numbers& operation, int op) {
    CHECK(operation.gathered() ==
          expected_numbers(ranks(), 1 + op % 3, [op](int r) { return number(r, op); }));
    CHECK(operation.completions() == 1);
}

TEST_CASE("one operation, at every check level, in one step and in several") {
    for (const auto level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const auto channel = make_channel("one", level);
        for (const int op : {0, 1, 2}) {
            const auto operation = start(channel, call_of(op));
            wait(*operation);
            CHECK(operation->finished());
            CHECK_FALSE(operation->failure());
            CHECK(channel->idle());
            check_numbers(*operation, op);
        }
    }
}

TEST_CASE("200 operations in flight, waited for in any order") {
    for (const auto level : {CheckLevel::agree, CheckLevel::local}) {
        const auto channel = make_channel("many", level);
        for (const int order : {0, 1, 2}) {
            std::vector<std::shared_ptr<Numbers>> operations;
            for (int op = 0; op < 200; ++op) {
                operations.push_back(start(channel, call_of(op)));
            }
            std::vector<int> turns(operations.size());
            std::iota(turns.begin(), turns.end(), 0);
            if (order == 1) {
                std::reverse(turns.begin(), turns.end());
            } else if (order == 2) {  // another order on every rank
                std::shuffle(turns.begin(), turns.end(), std::mt19937(static_cast<unsigned>(5 + rank())));
            }
            for (const int op : turns) {
                wait(*operations[static_cast<std::size_t>(op)]);
                check_numbers(*operations[static_cast<std::size_t>(op)], op);
            }
            CHECK(channel->idle());
        }
    }
}

TEST_CASE("two groups, started in opposite order by different ranks") {
    const auto first = make_channel("first");
    const auto second = make_channel("second");
    const bool odd = rank() % 2 == 1;
    for (int op = 0; op < 20; ++op) {
        const int early_op = odd ? op + 100 : op;
        const int late_op = odd ? op : op + 100;
        const auto early = start(odd ? second : first, call_of(early_op));
        const auto late = start(odd ? first : second, call_of(late_op));
        // Odd ranks wait for what even ranks started last, and the other way round.
        wait(*early);
        wait(*late);
        check_numbers(*early, early_op);
        check_numbers(*late, late_op);
    }
    CHECK(first->idle());
    CHECK(second->idle());
}

TEST_CASE("a rank that waits for one group serves the others") {
    const auto first = make_channel("first");
    const auto second = make_channel("second");
    const auto on_first = start(first, call_of(5));
    if (rank() == 0) {  // is in `second` all the time while the others need its payload in `first`
        const auto on_second = start(second, call_of(2));
        wait(*on_second);
        check_numbers(*on_second, 2);
        wait(*on_first);
    } else {
        wait(*on_first);
        const auto on_second = start(second, call_of(2));
        wait(*on_second);
        check_numbers(*on_second, 2);
    }
    check_numbers(*on_first, 5);
}

TEST_CASE("overlapping groups of some ranks only") {
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() / 2, rank(), &pair);
    const auto everyone = make_channel("everyone");
    const auto half = make_channel("half", CheckLevel::agree, pair);
    MPI_Comm_free(&pair);
    const int base = rank() / 2 * 2;
    std::vector<std::shared_ptr<Numbers>> wide;
    std::vector<std::shared_ptr<Numbers>> narrow;
    for (int op = 0; op < 10; ++op) {
        if (rank() % 3 == 0) {
            wide.push_back(start(everyone, call_of(op)));
            narrow.push_back(start(half, call_of(op)));
        } else {
            narrow.push_back(start(half, call_of(op)));
            wide.push_back(start(everyone, call_of(op)));
        }
    }
    for (int op = 10; op-- > 0;) {
        const auto i = static_cast<std::size_t>(op);
        wait(*narrow[i]);
        wait(*wide[i]);
        check_numbers(*wide[i], op);
        CHECK(narrow[i]->gathered() ==
              expected_numbers(half->size(), 1 + op % 3, [&](int r) { return number(base + r, op); }));
    }
}

TEST_CASE("an operation that has finished may be used again, but not while it is in flight") {
    const auto channel = make_channel("again");
    const auto operation = start(channel, call_of(0));
    wait(*operation);
    for (int op = 1; op < 5; ++op) {
        operation->call() = call_of(op);
        plumb::mpi::submit(channel, operation);
        if (!operation->finished()) {
            CHECK(message_of<plumb::ArgumentError>([&] { plumb::mpi::submit(channel, operation); }) ==
                  "an operation that is in flight cannot be started again");
        }
        wait(*operation);
        CHECK(operation->gathered() ==
              expected_numbers(ranks(), 1 + op % 3, [op](int r) { return number(r, op); }));
        CHECK(operation->completions() == op + 1);
    }
}

TEST_CASE("what the root shares reaches all ranks at every check level") {
    for (const auto level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const auto channel = make_channel("shared", level);
        for (const bool confirm : {false, true}) {
            auto call = call_of(4);
            call.has_header = true;
            call.has_confirm = confirm;
            call.shares = rank() == 0 ? 4096 : 0;
            const auto operation = start(channel, call);
            const auto next = start(channel, call_of(7));
            wait(*next);
            wait(*operation);
            CHECK(operation->told() == 4096);
            CHECK(operation->allocated() == (confirm ? 4096 : 0));
            check_numbers(*operation, 4);
            check_numbers(*next, 7);
        }
    }
}

TEST_CASE("things kept with a group live as long as it does") {
    const auto thing = std::make_shared<int>(5);
    const int tag = 0;
    const int other_tag = 0;
    {
        const auto channel = make_channel("slots");
        CHECK(channel->slot(&tag) == nullptr);
        channel->slot(&tag) = thing;
        CHECK(channel->slot(&other_tag) == nullptr);
        CHECK(channel->slot(&tag) == thing);
        CHECK(thing.use_count() == 2);
    }
    CHECK(thing.use_count() == 1);
}

TEST_CASE("a channel knows its group") {
    const auto channel = make_channel("tensor+expert", CheckLevel::local);
    CHECK(channel->size() == ranks());
    CHECK(channel->rank() == rank());
    CHECK(channel->group() == "tensor+expert");
    CHECK(channel->global_rank(ranks() - 1) == plumb::GlobalRank(ranks() - 1));
    CHECK(channel->caller().group == "tensor+expert");
    CHECK(channel->caller().rank == plumb::GlobalRank(rank()));
    CHECK(channel->check_level() == CheckLevel::local);
    CHECK(channel->data() != channel->agreement());
}

}  // namespace
