// The blocking agreement, as contexts and groups use it.
#include <plumb/mpi/agreement.h>

#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/handles.h>

#include "mpi/expect.h"

namespace {

using plumb::AgreementError;
using plumb::GlobalRank;
using plumb::mpi::Communicator;
using plumb::mpi::Signature;
using plumb::test::check_same_on_all_ranks;
using plumb::test::message_of;
using plumb::test::rank;
using plumb::test::ranks;

std::vector<GlobalRank> all_ranks() {
    std::vector<GlobalRank> list;
    for (int r = 0; r < ranks(); ++r) {
        list.emplace_back(r);
    }
    return list;
}

void agree(const Communicator& comm, const std::function<void(Signature&)>& describe) {
    plumb::mpi::agree(comm.get(), "world", all_ranks(), describe);
}

TEST_CASE("agreement, disagreement, agreement") {
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const auto call = [&](int value) {
        agree(comm, [&](Signature& s) {
            s.field("operation", "build");
            s.field("value", std::int64_t{value});
        });
    };
    CHECK_NOTHROW(call(5));
    if (ranks() > 1) {
        const auto text = message_of<AgreementError>([&] { call(rank() == 1 ? 6 : 5); });
        check_same_on_all_ranks(text);
        CHECK(text == (ranks() == 2
                           ? "build on group 'world' (ranks 0,1): the ranks disagree: value is 5 on rank "
                             "0, 6 on rank 1"
                           : "build on group 'world' (ranks 0-2): the ranks disagree: value is 5 on ranks "
                             "0,2, 6 on rank 1"));
    }
    CHECK_NOTHROW(call(7));
}

TEST_CASE("one rank's exception is everybody's") {
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const int last = ranks() - 1;
    const auto text = message_of<AgreementError>([&] {
        agree(comm, [&](Signature& s) {
            s.field("operation", "build");
            if (rank() == last) {
                throw plumb::EnvironmentError("PLUMB_CHECK is 'maybe'");
            }
        });
    });
    check_same_on_all_ranks(text);
    const std::string who = ranks() == 1 ? "(rank 0)" : ranks() == 2 ? "(ranks 0,1)" : "(ranks 0-2)";
    CHECK(text ==
          "build on group 'world' " + who + ": rank " + std::to_string(last) + ": PLUMB_CHECK is 'maybe'");

    const auto memory = message_of<AgreementError>([&] {
        agree(comm, [&](Signature& s) {
            s.field("operation", "build");
            if (rank() == 0) {
                throw std::bad_alloc();
            }
        });
    });
    CHECK(memory == "build on group 'world' " + who + ": rank 0: out of memory");
    try {
        agree(comm, [&](Signature& s) {
            if (rank() == last) {
                s.fail("no");
            }
        });
        FAIL_CHECK("no exception");
    } catch (const AgreementError& error) {
        CHECK(error.ranks() == std::vector<GlobalRank>{GlobalRank(last)});
        CHECK(std::string(error.what()) ==
              "call on group 'world' " + who + ": rank " + std::to_string(last) + ": no");
    }
    CHECK_NOTHROW(agree(comm, [](Signature&) {}));
}

TEST_CASE("long and uneven descriptions arrive whole") {
    if (ranks() == 1) {
        return;
    }
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const std::string mine(static_cast<std::size_t>(1 + 50000 * rank()), static_cast<char>('a' + rank()));
    const auto text =
        message_of<AgreementError>([&] { agree(comm, [&](Signature& s) { s.field("text", mine); }); });
    check_same_on_all_ranks(text);
    for (int r = 0; r < ranks(); ++r) {
        const std::string whole(static_cast<std::size_t>(1 + 50000 * r), static_cast<char>('a' + r));
        CHECK(text.find(whole + " on rank " + std::to_string(r)) != std::string::npos);
    }
}

TEST_CASE("meeting takes as long as the last rank, or PLUMB_TIMEOUT") {
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const plumb::mpi::Caller caller{"world", GlobalRank(rank())};
    CHECK_NOTHROW(plumb::mpi::meet(comm.get(), "Group", caller));
    if (ranks() == 1) {
        return;
    }
    plumb::mpi::set_default_timeout(plumb::mpi::Seconds(0.05));
    if (rank() == 0) {
        const auto text =
            message_of<plumb::TimeoutError>([&] { plumb::mpi::meet(comm.get(), "Group", caller); });
        CHECK(text ==
              "Group on group 'world', rank 0: not complete after 0.05 s, still waiting for all ranks to "
              "make the "
              "call");
    }
    plumb::mpi::set_default_timeout({});
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) {
        plumb::mpi::meet(comm.get(), "Group", caller);  // rank 0's part is under way still
    }
}

}  // namespace
