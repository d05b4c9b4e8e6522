// Groups from the user's communicators and from explicit ranks.
#include <plumb/context/group.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include <plumb/context/comm_context.h>
#include <plumb/core/error.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::AgreementError;
using plumb::ArgumentError;
using plumb::CommContext;
using plumb::GlobalRank;
using plumb::Group;
using plumb::GroupRank;
using plumb::ParallelMode;
using plumb::test::check_same_on_all_ranks;
using plumb::test::expected_numbers;
using plumb::test::message_of;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::start;

static_assert(!std::is_copy_constructible_v<Group> && std::is_nothrow_move_constructible_v<Group>);
static_assert(!std::is_copy_constructible_v<CommContext> &&
              std::is_nothrow_move_constructible_v<CommContext>);

std::vector<GlobalRank> ranks_of(const std::vector<int>& values) {
    return {values.begin(), values.end()};
}

std::vector<GlobalRank> list(std::span<const GlobalRank> span) {
    return {span.begin(), span.end()};
}

/// 0, 1, … and the reverse.
std::vector<int> counting(bool reversed = false) {
    std::vector<int> values;
    for (int r = 0; r < ranks(); ++r) {
        values.push_back(reversed ? ranks() - 1 - r : r);
    }
    return values;
}

std::string everyone() {
    return ranks() == 1 ? "rank 0" : ranks() == 2 ? "ranks 0,1" : "ranks 0-" + std::to_string(ranks() - 1);
}

std::string good_mesh() {
    return "data=" + std::to_string(ranks());
}

std::shared_ptr<Numbers> started(const Group& group) {
    Numbers::Call call;
    call.number = 5 * rank() + 1;
    return start(group.channel(), call);
}

/// The group gathers its members' numbers in group order; `world_ranks` are its members in MPI_COMM_WORLD.
void check_works(const Group& group, const std::vector<int>& world_ranks) {
    const auto operation = started(group);
    plumb::mpi::wait(*operation);
    CHECK(operation->gathered() == expected_numbers(group.size(), 1, [&](int r) {
              return 5 * world_ranks[static_cast<std::size_t>(r)] + 1;
          }));
}

TEST_CASE("no group") {
    const Group none;
    CHECK_FALSE(none.is_member());
    CHECK(none.size() == 0);
    CHECK(none.ranks().empty());
    CHECK(none.communicator() == MPI_COMM_NULL);
    CHECK(none.channel() == nullptr);
    CHECK_FALSE(none.group_rank(GlobalRank(0)));
    CHECK(message_of<ArgumentError>([&] { static_cast<void>(none.rank()); }) ==
          "this rank is not a member of group '' (ranks )");
    CHECK_THROWS_AS(static_cast<void>(none.global_rank(GroupRank(0))), ArgumentError);
}

TEST_CASE("a group from a communicator, reversed and split") {
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &reversed);
    {
        Group group(reversed, "back to front");
        CHECK(group.name() == "back to front");
        CHECK(list(group.ranks()) == ranks_of(counting(true)));
        CHECK(group.rank() == GroupRank(ranks() - 1 - rank()));
        CHECK(group.global_rank(group.rank()) == GlobalRank(rank()));
        check_works(group, counting(true));
    }
    MPI_Comm_free(&reversed);

    MPI_Comm parity = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &parity);
    std::vector<int> same;
    for (int r = rank() % 2; r < ranks(); r += 2) {
        same.push_back(r);
    }
    std::optional<Group> group(std::in_place, parity);
    MPI_Comm_free(&parity);  // the group has its own
    CHECK(group->name() == "user");
    CHECK(list(group->ranks()) == ranks_of(same));
    CHECK(group->rank() == GroupRank(rank() / 2));
    check_works(*group, same);
    group.reset();
}

TEST_CASE("MPI_COMM_NULL makes a group this rank is not in") {
    MPI_Comm even = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2 == 0 ? 0 : MPI_UNDEFINED, rank(), &even);
    Group group(even, "even");
    CHECK(group.is_member() == (rank() % 2 == 0));
    CHECK(group.name() == "even");
    if (group.is_member()) {
        MPI_Comm_free(&even);
        CHECK(group.rank() == GroupRank(rank() / 2));
    } else {
        CHECK(group.size() == 0);
        CHECK(message_of<ArgumentError>([&] { static_cast<void>(group.rank()); }) ==
              "this rank is not a member of group 'even' (ranks )");
    }
}

void never_called(MPI_Comm*, int*, ...) {}

TEST_CASE("the user's communicator and its error handler stay the user's") {
    for (const bool reverse : {false, true}) {
        MPI_Comm user = MPI_COMM_NULL;
        MPI_Comm_split(MPI_COMM_WORLD, 0, reverse ? -rank() : rank(), &user);
        MPI_Errhandler custom = MPI_ERRHANDLER_NULL;
        MPI_Comm_create_errhandler(never_called, &custom);
        MPI_Comm_set_errhandler(user, custom);
        const auto check_untouched = [&] {
            MPI_Errhandler now = MPI_ERRHANDLER_NULL;
            MPI_Comm_get_errhandler(user, &now);
            CHECK(now == custom);
            MPI_Errhandler_free(&now);
        };
        // A message of the user's own, under way all the time, is not taken by anyone else.
        const int mine = 70 + rank();
        int got = -1;
        MPI_Request receiving = MPI_REQUEST_NULL;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, user, &receiving);
        {
            CommContext context(user, good_mesh());
            check_untouched();
            MPI_Errhandler of_plumb = MPI_ERRHANDLER_NULL;
            MPI_Comm_get_errhandler(context.group(ParallelMode::data).communicator(), &of_plumb);
            CHECK(of_plumb == MPI_ERRORS_RETURN);
            // The context's ranks are those of the user's communicator, in its order.
            const int here = reverse ? ranks() - 1 - rank() : rank();
            CHECK(context.global_rank() == GlobalRank(here));
            CHECK(context.local_rank(ParallelMode::data) == GroupRank(here));
            check_works(context.group(ParallelMode::data), counting(reverse));
            CHECK_THROWS_AS(CommContext(user, "model=1"), AgreementError);
            check_untouched();
            const Group group(user);
            check_works(group, counting(reverse));
            check_untouched();
        }
        check_untouched();
        int done = 1;
        MPI_Test(&receiving, &done, MPI_STATUS_IGNORE);
        CHECK(done == 0);
        MPI_Send(&mine, 1, MPI_INT, (reverse ? ranks() - 1 - rank() : rank()), 3, user);
        MPI_Wait(&receiving, MPI_STATUS_IGNORE);
        CHECK(got == mine);
        MPI_Errhandler_free(&custom);
        MPI_Comm_free(&user);
    }
}

TEST_CASE("a context over a part of the world") {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() == 0 ? 0 : 1, rank(), &part);
    int size = 0;
    MPI_Comm_size(part, &size);
    {
        CommContext context(part, "tensor=" + std::to_string(size));
        CHECK(context.world_size() == size);
        CHECK(context.global_rank() == GlobalRank(rank() == 0 ? 0 : rank() - 1));
        std::vector<int> world;
        for (int r = 0; r < size; ++r) {
            world.push_back(rank() == 0 ? 0 : r + 1);
        }
        check_works(context.group(ParallelMode::tensor), world);
    }
    MPI_Comm_free(&part);
}

TEST_CASE("groups move") {
    Group first(MPI_COMM_WORLD, "moving");
    Group second(std::move(first));
    CHECK_FALSE(first.is_member());  // NOLINT: that is the point
    CHECK(first.size() == 0);
    CHECK(second.name() == "moving");
    Group third(MPI_COMM_WORLD, "replaced");
    const std::weak_ptr<plumb::mpi::Channel> replaced(third.channel());
    started(third);  // dropped, and completed by the assignment
    third = std::move(second);
    CHECK(replaced.expired());
    check_works(third, counting());
    third.destroy();
    CHECK_FALSE(third.is_member());
    third.destroy();
}

TEST_CASE("a group is made while operations are in flight elsewhere") {
    Group group(MPI_COMM_WORLD);
    for (const bool make_first : {true, false}) {
        const auto operation = started(group);
        // Rank 0 makes its context while the others wait for rank 0's part of the operation, and then the
        // other way round.
        const bool first = (rank() == 0) == make_first;
        if (!first) {
            plumb::mpi::wait(*operation);
        }
        CommContext context(good_mesh());
        const Group other(MPI_COMM_WORLD);
        const auto& named = context.init_group("all", ranks_of(counting()));
        check_works(named, counting());
        plumb::mpi::wait(*operation);
    }
    // A call that a peer makes only after the context is there does not hold the context up.
    std::shared_ptr<Numbers> early;
    if (rank() == 0) {
        early = started(group);
    }
    CommContext context(good_mesh());
    if (rank() != 0) {
        early = started(group);
    }
    plumb::mpi::wait(*early);
}

TEST_CASE("explicit ranks, in the order given") {
    CommContext context(good_mesh());
    const auto forward = ranks_of(counting());
    const auto backward = ranks_of(counting(true));
    const auto last = ranks_of({ranks() - 1});
    const Group& all = context.init_group("all", forward);
    const Group& reversed = context.init_group("reversed", backward);
    const Group& only_last = context.init_group("last", last);
    CHECK(&context.group("all") == &all);  // references stay valid when others are added
    CHECK(&context.group("reversed") == &reversed);
    CHECK(list(all.ranks()) == forward);
    CHECK(list(reversed.ranks()) == backward);
    CHECK(reversed.rank() == GroupRank(ranks() - 1 - rank()));
    CHECK(reversed.name() == "reversed");
    check_works(all, counting());
    check_works(reversed, counting(true));

    const bool member = rank() == ranks() - 1;
    CHECK(only_last.is_member() == member);
    CHECK(only_last.size() == 1);
    CHECK(only_last.group_rank(GlobalRank(ranks() - 1)) == GroupRank(0));
    if (member) {
        check_works(only_last, {rank()});
    } else {
        CHECK(only_last.communicator() == MPI_COMM_NULL);
        CHECK(message_of<ArgumentError>([&] { static_cast<void>(only_last.rank()); }) ==
              "this rank is not a member of group 'last' (ranks " + std::to_string(ranks() - 1) + ")");
    }
    if (ranks() >= 4) {  // neither sorted nor everybody
        const Group& some = context.init_group("some", ranks_of({3, 0, 2}));
        CHECK(some.is_member() == (rank() == 0 || rank() == 2 || rank() == 3));
        CHECK(list(some.ranks()) == ranks_of({3, 0, 2}));
        if (some.is_member()) {
            check_works(some, {3, 0, 2});
        }
    }
}

TEST_CASE("a partition under one name") {
    CommContext context(good_mesh());
    std::vector<std::vector<GlobalRank>> parts(2);
    for (int r = ranks(); r-- > 0;) {
        parts[static_cast<std::size_t>(r % 2)].emplace_back(r);
    }
    if (ranks() == 1) {
        parts.pop_back();
    }
    const Group& half = context.init_groups("halves", parts);
    std::vector<int> mine;
    for (int r = ranks(); r-- > 0;) {
        if (r % 2 == rank() % 2) {
            mine.push_back(r);
        }
    }
    CHECK(list(half.ranks()) == ranks_of(mine));
    check_works(half, mine);
    if (ranks() >= 3) {
        // Rank 1 is in neither.
        const std::vector<std::vector<GlobalRank>> without_one{ranks_of({2}), ranks_of({0})};
        const Group& outside = context.init_groups("outside", without_one);
        CHECK(outside.is_member() == (rank() == 0 || rank() == 2));
        CHECK(outside.size() == (outside.is_member() ? 1 : 0));
    }
}

TEST_CASE("groups that cannot be made") {
    CommContext context(good_mesh());
    const auto all = ranks_of(counting());
    context.init_group("mine", all);
    const std::string prefix = "init_group on group 'context' (" + everyone() + "): ";
    const auto refusal = [&](const std::string& name, const std::vector<GlobalRank>& members) {
        const auto text = message_of<AgreementError>([&] { context.init_group(name, members); });
        check_same_on_all_ranks(text);
        return text;
    };
    CHECK(refusal("mine", all) == prefix + everyone() + ": name is 'mine', which is taken");
    CHECK(refusal("data", all) == prefix + everyone() + ": name is 'data', which is taken");
    CHECK(refusal("DATA_PARALLEL", all) == prefix + everyone() + ": name is 'DATA_PARALLEL', which is taken");
    CHECK(refusal("new", {}) == prefix + everyone() + ": ranks is empty, a group needs at least one");
    CHECK(refusal("new", ranks_of({0, ranks()})) ==
          prefix + everyone() + ": ranks holds " + std::to_string(ranks()) +
              ", which is outside the context, allowed is 0 … " + std::to_string(ranks() - 1));
    CHECK(refusal("new", ranks_of({-1})) ==
          prefix + everyone() + ": ranks holds -1, which is outside the context, allowed is 0 … " +
              std::to_string(ranks() - 1));
    CHECK(refusal("new", ranks_of({0, 0})) == prefix + everyone() + ": ranks holds 0 twice");
    const auto no_parts = message_of<AgreementError>(
        [&] { context.init_groups("new", std::span<const std::vector<GlobalRank>>()); });
    CHECK(no_parts == prefix + everyone() + ": partition is empty, it needs at least one group");

    if (ranks() == 2) {
        CHECK(refusal("new", rank() == 0 ? ranks_of({0, 1}) : ranks_of({1, 0})) ==
              prefix + "the ranks disagree: ranks[0] is [0, 1] on rank 0, [1, 0] on rank 1");
        CHECK(refusal(rank() == 0 ? "a" : "b", all) ==
              prefix + "the ranks disagree: name is a on rank 0, b on rank 1");
    }
    if (ranks() > 1) {
        CHECK(refusal("new", ranks_of({0, rank() == 0 ? 7 * ranks() : 1})) ==
              prefix + "rank 0: ranks holds " + std::to_string(7 * ranks()) +
                  ", which is outside the context, allowed is 0 … " + std::to_string(ranks() - 1));
    }
    const Group& made = context.init_group("new", all);
    check_works(made, counting());
}

TEST_CASE("destroying a group completes what nobody waits for") {
    Group group(MPI_COMM_WORLD);
    const std::weak_ptr<Numbers> dropped = started(group);
    group.destroy();
    CHECK(dropped.expired());
    if (ranks() == 1) {
        return;
    }
    Group late(MPI_COMM_WORLD, "late");
    if (rank() == 0) {
        started(late);
        plumb::mpi::set_default_timeout(plumb::mpi::Seconds(0.05));
        CHECK(message_of<plumb::TimeoutError>([&] { late.destroy(); }) ==
              "group 'late' (" + everyone() +
                  "), rank 0: operations that nobody waited for are not complete after 0.05 s");
        plumb::mpi::set_default_timeout({});
        CHECK(late.is_member());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() != 0) {
        started(late);
    }
    late.destroy();
    CHECK_FALSE(late.is_member());
}

}  // namespace
