// Test cases that fail in every way a rank can; tests/support/harness/check.cmake runs each of them and
// demands that the job fails and says why.
#include <doctest/doctest.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "support/job.h"

namespace {

using plumb::test::rank;
using plumb::test::ranks;

bool on_rank_1() {
    return rank() == 1;
}

TEST_CASE("passes") {
    int sum = 0;
    const int mine = rank() + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == ranks() * (ranks() + 1) / 2);
}

TEST_CASE("one rank fails") {
    MESSAGE("only a failing rank shows this");
    const int here = rank();
    CHECK(here != 1);
}

TEST_CASE("one rank throws") {
    if (on_rank_1()) throw std::runtime_error("planted exception");
}

TEST_CASE("one rank fails before a barrier") {
    REQUIRE(!on_rank_1());
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("one rank crashes") {
    if (on_rank_1()) std::raise(SIGSEGV);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("one rank is killed") {
    if (on_rank_1()) std::raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("one rank exits") {
    if (on_rank_1()) std::exit(EXIT_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("one rank leaks a datatype") {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    if (!on_rank_1()) MPI_Type_free(&pair);
}

TEST_CASE("one rank leaks memory") {
    auto* leaked = std::malloc(on_rank_1() ? 100 : 1);
    CHECK(leaked != nullptr);
    if (!on_rank_1()) std::free(leaked);
}

TEST_CASE("one rank leaks a communicator") {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (!on_rank_1()) MPI_Comm_free(&copy);
}

TEST_CASE("one rank never comes") {
    if (on_rank_1()) pause();
    MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
