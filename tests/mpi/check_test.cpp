#include <plumb/mpi/check.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include <plumb/core/error.h>
#include <plumb/mpi/counts.h>
#include <plumb/mpi/handles.h>
#include <plumb/mpi/requests.h>

#include "mpi/expect.h"

namespace {

using plumb::GlobalRank;
using plumb::mpi::Caller;
using plumb::mpi::check;
using plumb::mpi::Communicator;
using plumb::mpi::RequestSet;
using plumb::test::message_of;
using plumb::test::rank;
using plumb::test::ranks;

std::string text_of(int code) {
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text;
}

TEST_CASE("success says nothing") {
    CHECK_NOTHROW(check(MPI_SUCCESS, "MPI_Send", {"data", GlobalRank(3)}));
}

TEST_CASE("an error carries the call, the group, the rank and MPI's text") {
    try {
        check(MPI_ERR_COUNT, "MPI_Send", {"data", GlobalRank(3)});
        FAIL("no exception");
    } catch (const plumb::MpiError& error) {
        CHECK(std::string(error.what()) ==
              "MPI_Send failed on rank 3 in group 'data': " + text_of(MPI_ERR_COUNT));
        CHECK(error.call() == "MPI_Send");
        CHECK(error.code() == MPI_ERR_COUNT);
    }
}

TEST_CASE("an error of a real call") {
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const int nobody = ranks();
    int error_class = 0;
    try {
        check(MPI_Send(nullptr, 0, MPI_BYTE, nobody, 0, comm.get()), "MPI_Send",
              {"tensor+expert", GlobalRank(rank())});
        FAIL("no exception");
    } catch (const plumb::MpiError& error) {
        MPI_Error_class(error.code(), &error_class);
        const std::string prefix =
            "MPI_Send failed on rank " + std::to_string(rank()) + " in group 'tensor+expert': ";
        CHECK(std::string(error.what()).starts_with(prefix));
        CHECK(std::string(error.what()).size() > prefix.size());
    }
    CHECK(error_class == MPI_ERR_RANK);
}

TEST_CASE("the world's caller") {
    CHECK(plumb::mpi::world_caller().rank == GlobalRank(rank()));
    CHECK(plumb::mpi::world_caller().group == "world");
}

TEST_CASE("a set of requests") {
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const Caller caller{"world", GlobalRank(rank())};
    const int to = (rank() + 1) % ranks();
    const int from = (rank() + ranks() - 1) % ranks();
    RequestSet requests;
    CHECK(requests.empty());
    CHECK(requests.test(caller));
    requests.wait(caller);

    constexpr int kMessages = 40;
    std::vector<int> got(kMessages, -1);
    std::vector<int> sent(kMessages);
    for (int i = 0; i < kMessages; ++i) {
        check(MPI_Irecv(&got[static_cast<std::size_t>(i)], 1, MPI_INT, from, i, comm.get(), requests.next()),
              "MPI_Irecv", caller);
    }
    CHECK(requests.size() == kMessages);
    CHECK_FALSE(requests.test(caller));
    CHECK(requests.size() == kMessages);
    RequestSet moved(std::move(requests));
    CHECK(moved.size() == kMessages);
    CHECK(requests.empty());      // NOLINT: that is the point
    MPI_Barrier(MPI_COMM_WORLD);  // nobody sends before all have looked
    for (int i = kMessages; i-- > 0;) {
        sent[static_cast<std::size_t>(i)] = 1000 * rank() + i;
        check(MPI_Isend(&sent[static_cast<std::size_t>(i)], 1, MPI_INT, to, i, comm.get(), moved.next()),
              "MPI_Isend", caller);
    }
    moved.wait(caller);
    CHECK(moved.empty());
    for (int i = 0; i < kMessages; ++i) {
        CHECK(got[static_cast<std::size_t>(i)] == 1000 * from + i);
    }
}

/// The error handler MPI_ERRORS_RETURN for one scope.
class ErrorsReturn {
  public:
    explicit ErrorsReturn(MPI_Comm comm) : comm_(comm) {
        MPI_Comm_get_errhandler(comm_, &before_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    }
    ~ErrorsReturn() {
        MPI_Comm_set_errhandler(comm_, before_);
        MPI_Errhandler_free(&before_);
    }
    ErrorsReturn(const ErrorsReturn&) = delete;
    ErrorsReturn& operator=(const ErrorsReturn&) = delete;

  private:
    MPI_Comm comm_;
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

TEST_CASE("the error of a set is that of the request that failed; the rest stays under way") {
    if (ranks() == 1) {
        return;  // Open MPI does not notice truncation on the way to oneself
    }
    // MPICH raises the error of a request that is complete not on its communicator but on these.
    const ErrorsReturn on_world(MPI_COMM_WORLD);
    const ErrorsReturn on_self(MPI_COMM_SELF);
    const auto comm = Communicator::duplicate(MPI_COMM_WORLD);
    const Caller caller{"pair", GlobalRank(rank())};
    const int to = (rank() + 1) % ranks();
    const int from = (rank() + ranks() - 1) % ranks();
    std::vector<int> small(4, -1);  // has room: some libraries write beyond the count when it is too small
    std::vector<int> late(1, -1);
    const std::vector<int> values{rank(), 5, 6, 7};
    RequestSet requests;
    check(MPI_Irecv(small.data(), 1, MPI_INT, from, 1, comm.get(), requests.next()), "MPI_Irecv", caller);
    check(MPI_Irecv(late.data(), 1, MPI_INT, from, 2, comm.get(), requests.next()), "MPI_Irecv", caller);
    MPI_Request sending = MPI_REQUEST_NULL;
    MPI_Isend(values.data(), 4, MPI_INT, to, 1, comm.get(), &sending);  // too long for its receiver

    int error_class = 0;
    try {
        while (!requests.test(caller)) {
        }
        FAIL_CHECK("no exception");
    } catch (const plumb::MpiError& error) {
        MPI_Error_class(error.code(), &error_class);
        CHECK(error.call() == "MPI_Test");
    }
    CHECK(error_class == MPI_ERR_TRUNCATE);
    CHECK(requests.size() == 1);
    CHECK_FALSE(requests.test(caller));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request late_sending = MPI_REQUEST_NULL;
    MPI_Isend(values.data(), 1, MPI_INT, to, 2, comm.get(), &late_sending);
    requests.wait(caller);
    CHECK(late[0] == from);
    CHECK(requests.empty());
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    MPI_Wait(&late_sending, MPI_STATUS_IGNORE);
}

using Piece = std::pair<std::int64_t, int>;

std::vector<Piece> pieces(std::int64_t bytes) {
    std::vector<Piece> list;
    plumb::mpi::for_each_piece(bytes,
                               [&](std::int64_t offset, int length) { list.emplace_back(offset, length); });
    return list;
}

TEST_CASE("pieces of large messages") {
    CHECK(plumb::mpi::count_limit() == 2147483647);
    CHECK(pieces(0) == std::vector<Piece>{{0, 0}});
    CHECK(pieces(17) == std::vector<Piece>{{0, 17}});
    CHECK(pieces(2147483647) == std::vector<Piece>{{0, 2147483647}});
    CHECK(pieces(5000000000) ==
          std::vector<Piece>{{0, 2147483647}, {2147483647, 2147483647}, {4294967294, 705032706}});
    CHECK(plumb::mpi::fits_count(2147483647));
    CHECK_FALSE(plumb::mpi::fits_count(2147483648));

    plumb::mpi::set_count_limit(4);
    CHECK(pieces(0) == std::vector<Piece>{{0, 0}});
    CHECK(pieces(4) == std::vector<Piece>{{0, 4}});
    CHECK(pieces(5) == std::vector<Piece>{{0, 4}, {4, 1}});
    CHECK(pieces(8) == std::vector<Piece>{{0, 4}, {4, 4}});
    plumb::mpi::set_count_limit(1);
    CHECK(pieces(3) == std::vector<Piece>{{0, 1}, {1, 1}, {2, 1}});
    CHECK(plumb::mpi::fits_count(1));
    CHECK_FALSE(plumb::mpi::fits_count(2));
    plumb::mpi::set_count_limit(2147483647);

    CHECK(message_of<plumb::ArgumentError>([] { plumb::mpi::set_count_limit(0); }) ==
          "limit is 0, allowed is 1 … 2147483647");
    CHECK(message_of<plumb::ArgumentError>([] { plumb::mpi::set_count_limit(2147483648); }) ==
          "limit is 2147483648, allowed is 1 … 2147483647");
    CHECK(plumb::mpi::count_limit() == 2147483647);
}

}  // namespace
