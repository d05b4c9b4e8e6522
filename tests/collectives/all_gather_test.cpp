#include <plumb/comm/all_gather.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::Bytes;
using test::numbers;
using test::Sample;
using test::World;

Shape joined_shape(const Shape& shape, int size) {
    return shape.ndim() == 0 ? Shape{size} : shape.with(0, shape[0] * size);
}

Shape stacked_shape(const Shape& shape, int size) {
    Shape result{size};
    for (const auto extent : shape) {
        result.push_back(extent);
    }
    return result;
}

/// Rank r's input, known to every rank.
Sample input_of(const Shape& shape, DType dtype, int number, int r) {
    return {test::source_layout(shape, number + r), dtype, r};
}

void check_values(const World& world) {
    test::for_each_sample([&](const Shape& shape, DType dtype, int number) {
        const Sample input = input_of(shape, dtype, number, world.rank);
        std::vector<Bytes> parts;
        for (int r = 0; r < world.size; ++r) {
            parts.push_back(input_of(shape, dtype, number, r).bytes());
        }
        const Bytes wanted = test::joined(parts);
        INFO(to_string(shape), " ", std::string(name(dtype)), " ", input.layout().name);

        const Tensor made = all_gather(input.tensor(), world.group);
        REQUIRE(made.shape() == joined_shape(shape, world.size));
        CHECK(made.is_contiguous());
        CHECK(made.dtype() == dtype);
        CHECK(test::contents(made) == wanted);

        const Sample output(test::target_layout(joined_shape(shape, world.size), number), dtype, 99);
        const Tensor given = output.tensor();
        CHECK(all_gather(given, input.tensor(), world.group).bytes() == given.bytes());
        CHECK(output.holds(wanted));
        if (shape.ndim() < kMaxDims) {
            const Shape stacked = stacked_shape(shape, world.size);
            const Tensor fresh = all_gather_stacked(input.tensor(), world.group);
            REQUIRE(fresh.shape() == stacked);
            CHECK(test::contents(fresh) == wanted);
            const Sample target(test::target_layout(stacked, number + 1), dtype, 98);
            all_gather_stacked(target.tensor(), input.tensor(), world.group);
            CHECK(target.holds(wanted));
        }
        CHECK(input.untouched());
    });
}

TEST_CASE("all_gather: every rank's input at its place") {
    check_values(World());
}

TEST_CASE("all_gather: without agreement") {
    check_values(World(CheckLevel::local));
    check_values(World(CheckLevel::off));
}

TEST_CASE("all_gather: in pieces") {
    for (const std::int64_t limit : {1, 5, 64}) {
        const test::CountLimit lowered(limit);
        INFO("limit ", limit);
        check_values(World());
    }
}

TEST_CASE("all_gather: fresh storage") {
    const World world;
    const Tensor input = numbers({2}, 3);
    const Tensor output = all_gather(input, world.group);
    CHECK_FALSE(output.shares_storage_with(input));
}

TEST_CASE("all_gather: errors") {
    const World world;
    const bool deviates = world.rank == world.last;
    const std::string who = "rank " + std::to_string(world.last);
    if (world.size > 1) {
        world.rejects({"all_gather", "input shape", "[3, 2] on " + who, "[2, 2] on rank"}, [&] {
            (void)all_gather(numbers({deviates ? 3 : 2, 2}, 0), world.group);
        });
        world.rejects({"input dtype", "float64 on " + who, "int32"}, [&] {
            (void)all_gather(deviates ? Tensor::zeros({2}, DType::f64) : numbers({2}, 0), world.group);
        });
        world.rejects({"all_gather", "all_gather_stacked", "operation"}, [&] {
            deviates ? all_gather_stacked(numbers({2}, 0), world.group)
                     : all_gather(numbers({2}, 0), world.group);
        });
    }
    world.rejects({who + ": input is an undefined tensor"},
                  [&] { (void)all_gather(deviates ? Tensor() : numbers({2}, 0), world.group); });
    const Tensor input = numbers({2}, 0);
    const Shape shape{2 * world.size};
    world.rejects({who + ": output has shape [7]"}, [&] {
        (void)all_gather(Tensor::zeros(deviates ? Shape{7} : shape, DType::i32), input, world.group);
    });
    world.rejects({who + ": output has dtype float32"}, [&] {
        (void)all_gather(Tensor::zeros(shape, deviates ? DType::f32 : DType::i32), input, world.group);
    });
    world.rejects({who + ": output overlaps itself"}, [&] {
        const Tensor one = Tensor::zeros({1}, DType::i32);
        (void)all_gather(deviates ? one.expand(shape) : Tensor::zeros(shape, DType::i32), input, world.group);
    });
    const Tensor output = numbers(shape, 100);
    world.rejects({who + ": output overlaps input"},
                  [&] { (void)all_gather(output, deviates ? output.narrow(0, 0, 2) : input, world.group); });
    CHECK(output.to_vector<std::int32_t>() == numbers(shape, 100).to_vector<std::int32_t>());
    world.rejects(
        {"8"}, [&] { (void)all_gather_stacked(Tensor::zeros(Shape::filled(8, 1), DType::u8), world.group); });
    world.rejects_other_op("all_gather", [&] { (void)all_gather(input, world.group); });
}

TEST_CASE("all_gather: async") {
    const auto start = [](const Group& group) {
        return all_gather_async(numbers({3, 2}, 10 * group.rank().value), group);
    };
    const auto check = [](const Group& group, const Tensor& output) {
        REQUIRE(output.shape() == Shape{3 * group.size(), 2});
        for (int i = 0; i < 6 * group.size(); ++i) {
            CHECK(output.data<std::int32_t>()[i] == i / 6 * 10 + i % 6);
        }
    };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async(
        [](const Group& group) {
            return all_gather(numbers({3, 2}, 10 * group.rank().value), group);
        },
        start, check);
    test::check_async_error(
        [](const Group& group) {
            return all_gather_async(group.rank().value == 0 ? Tensor() : numbers({3, 2}, 0), group);
        },
        start, check);
    const auto outside = [](const Group& group) { return all_gather_async(numbers({1}, 0), group); };
    CHECK_FALSE(test::result_outside_group(outside).defined());
}

}  // namespace
}  // namespace plumb
