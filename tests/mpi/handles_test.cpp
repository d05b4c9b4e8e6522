#include <plumb/mpi/handles.h>

#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include "mpi/expect.h"

namespace {

using plumb::mpi::Communicator;
using plumb::mpi::Owned;
using plumb::test::rank;
using plumb::test::ranks;

/// Counts its frees instead of calling MPI.
struct CountedTraits {
    using Raw = int;
    static int null() noexcept { return -1; }
    static void free(int& raw) noexcept { freed().push_back(raw); }
    static std::vector<int>& freed() {
        static std::vector<int> list;
        return list;
    }
};
using Counted = Owned<CountedTraits>;

static_assert(!std::is_copy_constructible_v<Counted> && !std::is_copy_assignable_v<Counted>);
static_assert(std::is_nothrow_move_constructible_v<Counted> && std::is_nothrow_move_assignable_v<Counted>);
static_assert(!std::is_copy_constructible_v<Communicator> &&
              std::is_nothrow_move_constructible_v<Communicator>);

TEST_CASE("a handle is freed once, by its last owner") {
    auto& freed = CountedTraits::freed();
    freed.clear();
    {
        Counted none;
        CHECK_FALSE(none);
        CHECK(none.get() == -1);
        Counted first(7);
        CHECK(first);
        Counted second(std::move(first));
        CHECK_FALSE(first);  // NOLINT: that is the point
        CHECK(first.get() == -1);
        CHECK(second.get() == 7);
        Counted third(8);
        third = std::move(second);
        CHECK(freed == std::vector<int>{8});
        CHECK_FALSE(second);  // NOLINT
        auto& same = third;
        third = std::move(same);
        CHECK(third.get() == 7);
        CHECK(freed == std::vector<int>{8});
        third.reset();
        CHECK_FALSE(third);
        CHECK(freed == std::vector<int>{8, 7});
        third.reset();
        none = Counted(9);
    }
    CHECK(freed == std::vector<int>{8, 7, 9});
}

int frees_seen = 0;
int on_freed(MPI_Comm, int, void*, void*) {
    ++frees_seen;
    return MPI_SUCCESS;
}

TEST_CASE("a communicator is MPI's to free exactly once") {
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_freed, &key, nullptr);
    frees_seen = 0;
    {
        auto comm = Communicator::duplicate(MPI_COMM_WORLD);
        MPI_Comm_set_attr(comm.get(), key, nullptr);
        CHECK(comm.rank() == rank());
        CHECK(comm.size() == ranks());
        Communicator moved(std::move(comm));
        CHECK_FALSE(comm);  // NOLINT
        CHECK(comm.get() == MPI_COMM_NULL);
        Communicator assigned;
        assigned = std::move(moved);
        CHECK(frees_seen == 0);
    }
    CHECK(frees_seen == 1);
    MPI_Comm_free_keyval(&key);
}

void never_called(MPI_Comm*, int*, ...) {}

TEST_CASE("a duplicate returns its errors; the original keeps its handler") {
    MPI_Comm user = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &user);
    MPI_Errhandler custom = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(never_called, &custom);
    MPI_Comm_set_errhandler(user, custom);
    {
        const auto comm = Communicator::duplicate(user);
        MPI_Errhandler of_copy = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(comm.get(), &of_copy);
        CHECK(of_copy == MPI_ERRORS_RETURN);
        MPI_Errhandler of_user = MPI_ERRHANDLER_NULL;
        MPI_Comm_get_errhandler(user, &of_user);
        CHECK(of_user == custom);
        MPI_Errhandler_free(&of_user);
        int relation = 0;
        MPI_Comm_compare(comm.get(), user, &relation);
        CHECK(relation == MPI_CONGRUENT);
    }
    MPI_Errhandler_free(&custom);
    MPI_Comm_free(&user);
}

TEST_CASE("no communicator is a communicator too") {
    const Communicator none(MPI_COMM_NULL);
    CHECK_FALSE(none);
}

TEST_CASE("datatypes and operators") {
    MPI_Datatype raw = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(3, MPI_INT, &raw);
    plumb::mpi::Datatype type(raw);
    plumb::mpi::Datatype moved(std::move(type));
    CHECK(type.get() == MPI_DATATYPE_NULL);  // NOLINT
    int size = 0;
    MPI_Type_size(moved.get(), &size);
    CHECK(size == 12);

    MPI_Op raw_op = MPI_OP_NULL;
    MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &raw_op);
    plumb::mpi::Op op(raw_op);
    op.reset();
    CHECK(op.get() == MPI_OP_NULL);
}

TEST_CASE("ranks of one communicator within another") {
    MPI_Comm raw = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() == 0 ? 0 : 1, -rank(), &raw);
    const Communicator part(raw);
    std::vector<int> expected;
    if (rank() == 0) {
        expected = {0};
    } else {
        for (int r = ranks() - 1; r > 0; --r) {
            expected.push_back(r);
        }
    }
    CHECK(plumb::mpi::ranks_within(part.get(), MPI_COMM_WORLD) == expected);
    const auto back = plumb::mpi::ranks_within(MPI_COMM_WORLD, part.get());
    for (int r = 0; r < ranks(); ++r) {
        const bool same_part = (r == 0) == (rank() == 0);
        const int place = r == 0 ? 0 : ranks() - 1 - r;
        CHECK(back[static_cast<std::size_t>(r)] == (same_part ? place : MPI_UNDEFINED));
    }
}

}  // namespace
