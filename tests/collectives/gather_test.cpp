#include <plumb/comm/gather.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::numbers;
using test::Sample;
using test::World;

/// Rank r's tensor, known to every rank.
Sample input_of(const Shape& shape, DType dtype, int number, int r) {
    return {test::source_layout(shape, number + r), dtype, r};
}

std::vector<Tensor> zeros(int count, const Shape& shape, DType dtype = DType::i32) {
    std::vector<Tensor> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(Tensor::zeros(shape, dtype));
    }
    return result;
}

void check_into(const World& world, const Sample& input, int dst, DType dtype, int number) {
    std::vector<Sample> outputs;
    std::vector<Tensor> list;
    for (int r = 0; r < world.size; ++r) {
        outputs.emplace_back(test::target_layout(input.shape(), number + r), dtype, 5000 + r);
        list.push_back(outputs.back().tensor());
    }
    if (world.rank != dst) {
        CHECK(gather(input.tensor(), std::nullopt, GroupRank(dst), world.group).empty());
        return;
    }
    const auto result = gather(input.tensor(), list, GroupRank(dst), world.group);
    REQUIRE(result.size() == list.size());
    for (int r = 0; r < world.size; ++r) {
        const auto place = static_cast<std::size_t>(r);
        CHECK(std::as_const(result[place]).bytes() == std::as_const(list[place]).bytes());
        CHECK(outputs[place].holds(input_of(input.shape(), dtype, number, r).bytes()));
    }
}

void check_fresh(const World& world, const Sample& input, int dst, DType dtype, int number) {
    const auto result = gather(input.tensor(), GroupRank(dst), world.group);
    if (world.rank != dst) {
        CHECK(result.empty());
        return;
    }
    REQUIRE(result.size() == static_cast<std::size_t>(world.size));
    for (int r = 0; r < world.size; ++r) {
        const Tensor& entry = result[static_cast<std::size_t>(r)];
        REQUIRE(entry.shape() == input.shape());
        CHECK(entry.dtype() == dtype);
        CHECK(test::contents(entry) == input_of(input.shape(), dtype, number, r).bytes());
    }
}

void check_values(const World& world) {
    test::for_each_sample([&](const Shape& shape, DType dtype, int number) {
        const int dst = (number + 1) % world.size;
        const Sample input = input_of(shape, dtype, number, world.rank);
        INFO(to_string(shape), " ", std::string(name(dtype)), " to ", dst, " from ", input.layout().name);
        check_into(world, input, dst, dtype, number);
        check_fresh(world, input, dst, dtype, number);
        CHECK(input.untouched());
    });
}

TEST_CASE("gather: dst gets every rank's tensor") {
    check_values(World());
}

TEST_CASE("gather: without agreement") {
    check_values(World(CheckLevel::local));
    check_values(World(CheckLevel::off));
}

TEST_CASE("gather: in pieces") {
    const test::CountLimit lowered(5);
    check_values(World());
}

TEST_CASE("gather: an empty list elsewhere is none, a global rank is a root") {
    const World world;
    const auto list = world.rank == world.last ? zeros(world.size, {2}) : std::vector<Tensor>{};
    gather(numbers({2}, 10 * world.rank), list, GlobalRank(world.last), world.group);
    for (std::size_t r = 0; r < list.size(); ++r) {
        CHECK(list[r].to_vector<std::int32_t>() ==
              numbers({2}, 10 * static_cast<int>(r)).to_vector<std::int32_t>());
    }
}

/// A gather to rank 0, right unless changed, into zeros that must stay so.
struct Call {
    explicit Call(const World& w) : world(w) {
        if (world.rank == 0) {
            list = zeros(world.size, {2, 3});
        }
    }
    void operator()() const { gather(tensor, list, dst, world.group); }

    const World& world;
    Tensor tensor = numbers({2, 3}, 1);
    std::optional<std::vector<Tensor>> list;
    Root dst = GroupRank(0);
};

template <class Change>
void rejects(const World& world, int who, std::initializer_list<std::string_view> parts, Change&& change) {
    Call call(world);
    const auto list = call.list.value_or(std::vector<Tensor>{});
    if (world.rank == who) {
        change(call);
    }
    world.rejects(parts, call);
    for (const Tensor& entry : list) {
        CHECK(entry.to_vector<std::int32_t>() == std::vector<std::int32_t>(6, 0));
    }
}

TEST_CASE("gather: errors of the list") {
    const World world;
    rejects(world, 0, {"rank 0: gather_list is not given on dst (rank 0)"},
            [](Call& call) { call.list.reset(); });
    rejects(world, 0, {"rank 0: gather_list has", "one per rank"}, [](Call& call) {
        call.list->push_back(Tensor::zeros({2, 3}, DType::i32));
    });
    rejects(world, 0, {"gather_list[0] has dtype float64, allowed is int32"}, [](Call& call) {
        call.list->front() = Tensor::zeros({2, 3}, DType::f64);
    });
    rejects(world, 0, {"has shape [3, 2], allowed is [2, 3]"}, [](Call& call) {
        call.list->back() = Tensor::zeros({3, 2}, DType::i32);
    });
    rejects(world, 0, {"gather_list[0] is an undefined tensor"},
            [](Call& call) { call.list->front() = Tensor(); });
    rejects(world, 0, {"gather_list[0] overlaps itself"}, [](Call& call) {
        call.list->front() = Tensor::zeros({1, 3}, DType::i32).expand({2, 3});
    });
    rejects(world, 0, {"overlaps tensor"}, [](Call& call) { call.list->back() = call.tensor; });
    if (world.size > 1) {
        rejects(world, 0, {"gather_list[1] overlaps gather_list[0]"},
                [](Call& call) { (*call.list)[1] = (*call.list)[0]; });
        rejects(world, world.last, {"gather_list has 2 tensors on a rank that is not dst (rank 0)"},
                [](Call& call) {
                    call.list = zeros(2, {2, 3});
                });
    }
}

TEST_CASE("gather: errors of the tensor and of dst") {
    const World world;
    const std::string who = "rank " + std::to_string(world.last);
    rejects(world, world.last, {who + ": tensor is an undefined tensor"},
            [](Call& call) { call.tensor = Tensor(); });
    rejects(world, world.last, {who + ": dst is group rank 9, allowed is 0 …"},
            [](Call& call) { call.dst = GroupRank(9); });
    if (world.size > 1) {
        rejects(world, world.last, {"tensor shape is [2, 3] on rank", "[1, 3] on " + who}, [](Call& call) {
            call.tensor = Tensor::zeros({1, 3}, DType::i32);
        });
        rejects(world, world.last, {"tensor dtype", "float32 on " + who}, [](Call& call) {
            call.tensor = Tensor::zeros({2, 3}, DType::f32);
        });
    }
    if (world.size > 2) {
        rejects(world, world.last, {"dst is 0 on", "1 on " + who},
                [](Call& call) { call.dst = GroupRank(1); });
    }
    world.rejects_other_op("gather", Call(world));
    test::check_root_in_one_group_only(
        "dst", [](const Group& group) { gather(numbers({2}, 0), GlobalRank(0), group); });
}

TEST_CASE("gather: async") {
    const auto make = [](const Group& group, int wrong) {
        const int dst = group.size() - 1;
        const Tensor tensor = numbers({4, 3}, 100 * group.rank().value).transpose(0, 1);
        if (group.rank().value == dst) {
            return gather_async(tensor, zeros(group.size() + wrong, {3, 4}), GroupRank(dst), group);
        }
        return gather_async(tensor, GroupRank(dst), group);
    };
    const auto start = [&](const Group& group) { return make(group, 0); };
    const auto check = [](const Group& group, const std::vector<Tensor>& list) {
        if (group.rank().value != group.size() - 1) {
            CHECK(list.empty());
            return;
        }
        REQUIRE(list.size() == static_cast<std::size_t>(group.size()));
        for (int r = 0; r < group.size(); ++r) {
            CHECK(list[static_cast<std::size_t>(r)].transpose(0, 1).to_vector<std::int32_t>() ==
                  numbers({4, 3}, 100 * r).to_vector<std::int32_t>());
        }
    };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async([&](const Group& group) { return make(group, 0).wait(); }, start, check);
    test::check_async_error([&](const Group& group) { return make(group, 1); }, start, check);
}

TEST_CASE("gather: outside the group") {
    const auto outside = [](const Group& group) {
        return gather_async(numbers({2}, 1), zeros(3, {2}), GroupRank(0), group);
    };
    CHECK(test::result_outside_group(outside).empty());
}

}  // namespace
}  // namespace plumb
