#include <plumb/comm/barrier.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::World;

TEST_CASE("barrier: nobody leaves before all have come") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const World world(level);
        for (int last = 0; last < world.size; ++last) {
            auto handle = world.rank == last ? Async<Completion>() : barrier_async(world.group);
            for (int i = 0; world.rank != last && i < 1000; ++i) {
                REQUIRE_FALSE(handle.test());
            }
            int others = 0;  // the last one comes when all others have seen that they wait
            MPI_Allreduce(&world.rank, &others, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            if (world.rank == last) {
                handle = barrier_async(world.group);
            }
            CHECK(handle.wait() == Completion::done);
            CHECK(barrier(world.group) == Completion::done);
        }
    }
}

TEST_CASE("barrier: another operation elsewhere is an error") {
    const World world;
    world.rejects_other_op("barrier", [&] { barrier(world.group); });
}

TEST_CASE("barrier: async") {
    const auto start = [](const Group& group) { return barrier_async(group); };
    const auto check = [](const Group&, Completion result) { CHECK(result == Completion::done); };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async([](const Group& group) { return barrier(group); }, start, check);
    CHECK(test::result_outside_group(start) == Completion::not_in_group);
    const Group none;
    CHECK(barrier(none) == Completion::not_in_group);
}

}  // namespace
}  // namespace plumb
