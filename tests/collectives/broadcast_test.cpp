#include <plumb/comm/broadcast.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::numbers;
using test::Sample;
using test::World;

void check_values(const World& world) {
    test::for_each_sample([&](const Shape& shape, DType dtype, int number) {
        const int src = number % world.size;
        const Sample mine(test::target_layout(shape, number + world.rank), dtype, world.rank);
        const Sample theirs(test::target_layout(shape, number + src), dtype, src);
        INFO(to_string(shape), " ", std::string(name(dtype)), " from ", src, " into ", mine.layout().name);
        const Tensor tensor = mine.tensor();
        CHECK(broadcast(tensor, GroupRank(src), world.group).bytes() == tensor.bytes());
        CHECK(mine.holds(theirs.bytes()));
    });
}

TEST_CASE("broadcast: everybody gets what src has") {
    check_values(World());
}

TEST_CASE("broadcast: without agreement") {
    check_values(World(CheckLevel::local));
    check_values(World(CheckLevel::off));
}

TEST_CASE("broadcast: in pieces") {
    const test::CountLimit lowered(5);
    check_values(World());
}

struct Call {
    explicit Call(const World& w) : world(w) {}
    void operator()() const { broadcast(tensor, src, world.group); }

    const World& world;
    Tensor tensor = numbers({2, 3}, 10 * world.rank);
    Root src = GlobalRank(0);
};

/// Rank `who` changes its call by `change`; nobody's tensor is written.
template <class Change>
void rejects(const World& world, int who, std::initializer_list<std::string_view> parts, Change&& change) {
    Call call(world);
    const Tensor tensor = call.tensor;
    if (world.rank == who) {
        change(call);
    }
    world.rejects(parts, call);
    CHECK(tensor.to_vector<std::int32_t>() == numbers({2, 3}, 10 * world.rank).to_vector<std::int32_t>());
}

TEST_CASE("broadcast: errors") {
    const World world;
    const std::string who = "rank " + std::to_string(world.last);
    for (const int deviating : {0, world.last}) {
        const std::string name = "rank " + std::to_string(deviating);
        rejects(world, deviating, {name + ": tensor is an undefined tensor"},
                [](Call& call) { call.tensor = Tensor(); });
        rejects(world, deviating, {name + ": tensor overlaps itself"}, [](Call& call) {
            call.tensor = Tensor::zeros({1, 3}, DType::i32).expand({2, 3});
        });
        rejects(world, deviating, {name + ": src is group rank -1, allowed is 0 …"},
                [](Call& call) { call.src = GroupRank(-1); });
        rejects(world, deviating, {name + ": src is global rank 9, which is not in the group"},
                [](Call& call) { call.src = GlobalRank(9); });
        if (world.size > 1) {
            rejects(world, deviating, {"tensor shape is", "[6] on " + name},
                    [](Call& call) { call.tensor = Tensor::zeros({6}, DType::i32); });
            rejects(world, deviating, {"tensor dtype is", "float32 on " + name}, [](Call& call) {
                call.tensor = Tensor::zeros({2, 3}, DType::f32);
            });
            rejects(world, deviating, {"src is", "1 on " + name, "0 on"},
                    [](Call& call) { call.src = GroupRank(1); });
        }
    }
    if (world.size > 1) {
        world.rejects({"operation", "broadcast", "all_gather"}, [&] {
            const Tensor tensor = numbers({2}, 0);
            world.rank == world.last ? all_gather(tensor, world.group)
                                     : broadcast(tensor, GroupRank(0), world.group);
        });
    }
    test::check_root_in_one_group_only(
        "src", [](const Group& group) { broadcast(numbers({2}, 0), GlobalRank(0), group); });
}

TEST_CASE("broadcast: async") {
    const auto make = [](const Group& group, const Shape& shape) {
        const int last = group.size() - 1;
        return broadcast_async(numbers(shape, 100 * group.rank().value).transpose(0, 1), GroupRank(last),
                               group);
    };
    const auto start = [&](const Group& group) { return make(group, {4, 3}); };
    const auto check = [](const Group& group, const Tensor& tensor) {
        CHECK(tensor.transpose(0, 1).to_vector<std::int32_t>() ==
              numbers({4, 3}, 100 * (group.size() - 1)).to_vector<std::int32_t>());
    };
    const auto wrong = [](const Group& group) {
        return broadcast_async(group.rank().value == 0 ? Tensor() : numbers({2}, 0), GroupRank(0), group);
    };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async([&](const Group& group) { return start(group).wait(); }, start, check);
    test::check_async_error(wrong, start, check);
}

TEST_CASE("broadcast: outside the group") {
    const Tensor tensor = numbers({2}, 1);
    const auto outside = [&](const Group& group) { return broadcast_async(tensor, GroupRank(0), group); };
    CHECK_FALSE(test::result_outside_group(outside).defined());
    CHECK(tensor.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2});
}

}  // namespace
}  // namespace plumb
