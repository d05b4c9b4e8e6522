#include <plumb/comm/scatter.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::numbers;
using test::Sample;
using test::World;

/// Entry r of the list on src, known to every rank.
Sample entry_of(const Shape& shape, DType dtype, int number, int src, int r) {
    return {test::source_layout(shape, number + r), dtype, 100 * src + r};
}

std::vector<Sample> list_of(const World& world, const Shape& shape, DType dtype, int number, int src) {
    std::vector<Sample> list;
    for (int r = 0; r < world.size; ++r) {
        list.push_back(entry_of(shape, dtype, number, src, r));
    }
    return list;
}

std::vector<Tensor> tensors(const std::vector<Sample>& list) {
    std::vector<Tensor> result;
    for (const Sample& sample : list) {
        result.push_back(sample.tensor());
    }
    return result;
}

std::vector<Tensor> zeros(int count, const Shape& shape, DType dtype = DType::i32) {
    std::vector<Tensor> result;
    for (int i = 0; i < count; ++i) {
        result.push_back(Tensor::zeros(shape, dtype));
    }
    return result;
}

void check_values(const World& world) {
    test::for_each_sample([&](const Shape& shape, DType dtype, int number) {
        const int src = number % world.size;
        const auto list = list_of(world, shape, dtype, number, src);
        const Sample output(test::target_layout(shape, number + world.rank), dtype, 5000);
        INFO(to_string(shape), " ", std::string(name(dtype)), " from ", src, " into ", output.layout().name);
        const Tensor given = output.tensor();
        const Tensor result = world.rank == src ? scatter(given, tensors(list), GroupRank(src), world.group)
                                                : scatter(given, std::nullopt, GroupRank(src), world.group);
        CHECK(result.bytes() == given.bytes());
        CHECK(output.holds(list[static_cast<std::size_t>(world.rank)].bytes()));
        for (const Sample& entry : list) {
            CHECK(entry.untouched());
        }
    });
}

TEST_CASE("scatter: every rank gets its entry") {
    check_values(World());
}

TEST_CASE("scatter: without agreement") {
    check_values(World(CheckLevel::local));
    check_values(World(CheckLevel::off));
}

TEST_CASE("scatter: in pieces") {
    const test::CountLimit lowered(5);
    check_values(World());
}

TEST_CASE("scatter: an empty list elsewhere is none, a global rank is a root") {
    const World world;
    const Tensor output = Tensor::zeros({2}, DType::i32);
    std::vector<Tensor> list;
    if (world.rank == world.last) {
        for (int r = 0; r < world.size; ++r) {
            list.push_back(numbers({2}, 10 * r));
        }
    }
    scatter(output, list, GlobalRank(world.last), world.group);
    CHECK(output.to_vector<std::int32_t>() == numbers({2}, 10 * world.rank).to_vector<std::int32_t>());
}

/// A scatter of zeros from rank 0, right unless changed, into an output that must stay as it is.
struct Call {
    explicit Call(const World& w) : world(w) {
        if (world.rank == 0) {
            list = zeros(world.size, {2, 3});
        }
    }
    void operator()() const { scatter(output, list, src, world.group); }

    const World& world;
    Tensor output = numbers({2, 3}, 1);
    std::optional<std::vector<Tensor>> list;
    Root src = GroupRank(0);
};

/// Rank `who` changes its call by `change`.
template <class Change>
void rejects(const World& world, int who, std::initializer_list<std::string_view> parts, Change&& change) {
    Call call(world);
    const Tensor output = call.output;
    if (world.rank == who) {
        change(call);
    }
    world.rejects(parts, call);
    CHECK(output.to_vector<std::int32_t>() == numbers({2, 3}, 1).to_vector<std::int32_t>());
}

TEST_CASE("scatter: errors of the list") {
    const World world;
    rejects(world, 0, {"rank 0: scatter_list is not given on src (rank 0)"},
            [](Call& call) { call.list.reset(); });
    rejects(world, 0, {"rank 0: scatter_list is not given on src"}, [](Call& call) { call.list->clear(); });
    rejects(world, 0, {"rank 0: scatter_list has", "one per rank"}, [](Call& call) {
        call.list->push_back(Tensor::zeros({2, 3}, DType::i32));
    });
    rejects(world, 0, {"scatter_list[0] has dtype float64, allowed is int32"}, [](Call& call) {
        call.list->front() = Tensor::zeros({2, 3}, DType::f64);
    });
    rejects(world, 0, {"has shape [3, 2], allowed is [2, 3]"}, [](Call& call) {
        call.list->back() = Tensor::zeros({3, 2}, DType::i32);
    });
    rejects(world, 0, {"scatter_list[0] is an undefined tensor"},
            [](Call& call) { call.list->front() = Tensor(); });
    rejects(world, 0, {"output overlaps scatter_list["}, [](Call& call) { call.list->back() = call.output; });
    if (world.size > 1) {
        rejects(world, world.last, {"scatter_list has 2 tensors on a rank that is not src (rank 0)"},
                [](Call& call) {
                    call.list = zeros(2, {2, 3});
                });
    }
}

TEST_CASE("scatter: errors of the output and of src") {
    const World world;
    const std::string who = "rank " + std::to_string(world.last);
    rejects(world, world.last, {who + ": output is an undefined tensor"},
            [](Call& call) { call.output = Tensor(); });
    rejects(world, world.last, {who + ": output overlaps itself"}, [](Call& call) {
        call.output = Tensor::zeros({1, 3}, DType::i32).expand({2, 3});
    });
    rejects(world, world.last, {who + ": src is group rank 9, allowed is 0 …"},
            [](Call& call) { call.src = GroupRank(9); });
    rejects(world, world.last, {"src is global rank -1"}, [](Call& call) { call.src = GlobalRank(-1); });
    if (world.size > 1) {
        rejects(world, world.last, {"output shape is [2, 3] on rank", "[1, 3] on " + who}, [](Call& call) {
            call.output = Tensor::zeros({1, 3}, DType::i32);
        });
        rejects(world, world.last, {"output dtype", "float32 on " + who}, [](Call& call) {
            call.output = Tensor::zeros({2, 3}, DType::f32);
        });
        rejects(world, world.last, {"scatter_list is not given on src (rank " + std::to_string(world.last)},
                [](Call& call) { call.src = GroupRank(call.world.last); });
    }
    if (world.size > 2) {
        rejects(world, world.last, {"src is 0 on", "1 on " + who},
                [](Call& call) { call.src = GroupRank(1); });
    }
    world.rejects_other_op("scatter", Call(world));
    test::check_root_in_one_group_only("src", [](const Group& group) {
        const Tensor output = Tensor::zeros({2}, DType::i32);
        scatter(output, test::rank() == 0 ? std::optional(zeros(2, {2})) : std::nullopt, GlobalRank(0),
                group);
    });
}

TEST_CASE("scatter: async") {
    const auto make = [](const Group& group, int wrong) {
        const int src = group.size() - 1;
        std::optional<std::vector<Tensor>> list;
        if (group.rank().value == src) {
            list.emplace();
            for (int r = 0; r < group.size() + wrong; ++r) {
                list->push_back(numbers({4, 3}, 100 * r).transpose(0, 1));
            }
        }
        return scatter_async(Tensor::zeros({4, 3}, DType::i32).transpose(0, 1), list, GroupRank(src), group);
    };
    const auto start = [&](const Group& group) { return make(group, 0); };
    const auto check = [](const Group& group, const Tensor& output) {
        CHECK(output.transpose(0, 1).to_vector<std::int32_t>() ==
              numbers({4, 3}, 100 * group.rank().value).to_vector<std::int32_t>());
    };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async([&](const Group& group) { return make(group, 0).wait(); }, start, check);
    test::check_async_error([&](const Group& group) { return make(group, 1); }, start, check);
}

TEST_CASE("scatter: outside the group") {
    const Tensor output = numbers({2}, 1);
    const auto outside = [&](const Group& group) {
        return scatter_async(output, std::nullopt, GroupRank(0), group);
    };
    CHECK_FALSE(test::result_outside_group(outside).defined());
    CHECK(output.to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2});
}

}  // namespace
}  // namespace plumb
