#include <plumb/comm/all_to_all_single.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::Bytes;
using test::numbers;
using test::Sample;
using test::World;
using Sizes = std::vector<std::int64_t>;

/// Row block [first, first + rows) of row-major contents.
Bytes block(const Bytes& contents, std::int64_t first, std::int64_t rows, std::int64_t all_rows) {
    const std::int64_t row = all_rows == 0 ? 0 : static_cast<std::int64_t>(contents.size()) / all_rows;
    return {contents.begin() + first * row, contents.begin() + (first + rows) * row};
}

/// Rank r's input, known to every rank.
Sample input_of(const Shape& shape, DType dtype, int number, int r) {
    return {test::source_layout(shape, number + r), dtype, r};
}

void check_even(const World& world) {
    test::for_each_sample([&](const Shape& sample, DType dtype, int number) {
        if (sample.ndim() == 0) {
            return;
        }
        const std::int64_t rows = sample[0];  // to each rank
        const Shape shape = sample.with(0, rows * world.size);
        std::vector<Bytes> parts;
        for (int r = 0; r < world.size; ++r) {
            parts.push_back(
                block(input_of(shape, dtype, number, r).bytes(), world.rank * rows, rows, shape[0]));
        }
        const Bytes wanted = test::joined(parts);
        const Sample input = input_of(shape, dtype, number, world.rank);
        const Sample output(test::target_layout(shape, number), dtype, 99);
        INFO(to_string(shape), " ", std::string(name(dtype)), " ", input.layout().name, " into ",
             output.layout().name);

        const Tensor fresh = all_to_all_single(input.tensor(), world.group);
        REQUIRE(fresh.shape() == shape);
        CHECK(fresh.dtype() == dtype);
        CHECK(test::contents(fresh) == wanted);
        const Tensor given = output.tensor();
        CHECK(all_to_all_single(given, input.tensor(), world.group).bytes() == given.bytes());
        CHECK(output.holds(wanted));
        CHECK(input.untouched());
    });
}

/// Rows from rank `from` to rank `to`: some pairs have none.
std::int64_t rows_between(int from, int to) {
    return (from * 3 + to * 2) % 4;
}

Sizes sent_by(int r, int size) {
    Sizes sizes;
    for (int to = 0; to < size; ++to) {
        sizes.push_back(rows_between(r, to));
    }
    return sizes;
}

Sizes received_by(int r, int size) {
    Sizes sizes;
    for (int from = 0; from < size; ++from) {
        sizes.push_back(rows_between(from, r));
    }
    return sizes;
}

std::int64_t sum(const Sizes& sizes, int count) {
    std::int64_t result = 0;
    for (int i = 0; i < count; ++i) {
        result += sizes[static_cast<std::size_t>(i)];
    }
    return result;
}

void check_uneven(const World& world) {
    test::for_each_sample([&](const Shape& sample, DType dtype, int number) {
        if (sample.ndim() == 0) {
            return;
        }
        std::vector<Bytes> parts;
        for (int r = 0; r < world.size; ++r) {
            const Sizes sizes = sent_by(r, world.size);
            const auto rows = sum(sizes, world.size);
            parts.push_back(block(input_of(sample.with(0, rows), dtype, number, r).bytes(),
                                  sum(sizes, world.rank), rows_between(r, world.rank), rows));
        }
        const Bytes wanted = test::joined(parts);
        const Sizes sends = sent_by(world.rank, world.size);
        const Sizes receives = received_by(world.rank, world.size);
        const Sample input = input_of(sample.with(0, sum(sends, world.size)), dtype, number, world.rank);
        const Shape shape = sample.with(0, sum(receives, world.size));
        const Sample output(test::target_layout(shape, number), dtype, 99);
        INFO(to_string(input.shape()), " ", std::string(name(dtype)), " ", input.layout().name, " into ",
             output.layout().name);

        const Tensor fresh = all_to_all_single(input.tensor(), receives, sends, world.group);
        REQUIRE(fresh.shape() == shape);
        CHECK(test::contents(fresh) == wanted);
        all_to_all_single(output.tensor(), input.tensor(), receives, sends, world.group);
        CHECK(output.holds(wanted));
        CHECK(input.untouched());
    });
}

TEST_CASE("all_to_all_single: even blocks") {
    check_even(World());
    check_even(World(CheckLevel::local));
    check_even(World(CheckLevel::off));
}

TEST_CASE("all_to_all_single: blocks of any size") {
    check_uneven(World());
    check_uneven(World(CheckLevel::local));
    check_uneven(World(CheckLevel::off));
}

TEST_CASE("all_to_all_single: in pieces") {
    const test::CountLimit lowered(5);
    check_even(World());
    check_uneven(World());
}

TEST_CASE("all_to_all_single: one split given, the other even") {
    const World world;
    // Rank r sends one row to everybody, as an even input; rank 0 says so by its output's splits.
    const Tensor input = numbers({world.size}, 100 * world.rank);
    const Tensor output = Tensor::zeros({world.size}, DType::i32);
    const std::optional<Sizes> ones = Sizes(static_cast<std::size_t>(world.size), 1);
    if (world.rank == 0) {
        all_to_all_single(output, input, ones, std::nullopt, world.group);
    } else {
        all_to_all_single(output, input, std::nullopt, ones, world.group);
    }
    for (int r = 0; r < world.size; ++r) {
        CHECK(output.data<std::int32_t>()[r] == 100 * r + world.rank);
    }
}

TEST_CASE("all_to_all_single: everything to one rank") {
    const World world;
    const Tensor input = numbers({2, 3}, 10 * world.rank);
    Sizes sends(static_cast<std::size_t>(world.size), 0);
    sends.back() = 2;
    const Sizes receives(static_cast<std::size_t>(world.size), world.rank == world.last ? 2 : 0);
    const Tensor output = all_to_all_single(input, receives, sends, world.group);
    REQUIRE(output.shape() == Shape{world.rank == world.last ? 2 * world.size : 0, 3});
    for (int i = 0; i < output.element_count(); ++i) {
        CHECK(output.data<std::int32_t>()[i] == i / 6 * 10 + i % 6);
    }
}

/// One row to and from everybody, right unless changed, into an output that must stay as it is.
struct Call {
    explicit Call(const World& w, std::optional<Sizes> splits)
        : world(w), output_splits(splits), input_splits(splits) {}
    void operator()() const { all_to_all_single(output, input, output_splits, input_splits, world.group); }

    const World& world;
    Tensor output = numbers({world.size, 2}, 1000);
    Tensor input = numbers({world.size, 2}, 0);
    std::optional<Sizes> output_splits;
    std::optional<Sizes> input_splits;
};

/// The last rank changes its call by `change`.
template <class Change>
void rejects(const World& world, std::optional<Sizes> splits, std::initializer_list<std::string_view> parts,
             Change&& change) {
    Call call(world, std::move(splits));
    const Tensor output = call.output;
    if (world.rank == world.last) {
        change(call);
    }
    world.rejects(parts, call);
    CHECK(output.to_vector<std::int32_t>() == numbers(output.shape(), 1000).to_vector<std::int32_t>());
}

TEST_CASE("all_to_all_single: errors of the tensors") {
    const World world;
    const Sizes ones(static_cast<std::size_t>(world.size), 1);
    const std::string who = "rank " + std::to_string(world.last);
    for (const auto& splits : {std::optional<Sizes>(), std::optional(ones)}) {
        rejects(world, splits, {who + ": input is an undefined tensor"},
                [](Call& call) { call.input = Tensor(); });
        rejects(world, splits, {who + ": output is an undefined tensor"},
                [](Call& call) { call.output = Tensor(); });
        rejects(world, splits, {who + ": input has shape []"},
                [](Call& call) { call.input = numbers({}, 1); });
        rejects(world, splits, {who + ": output has shape []"},
                [](Call& call) { call.output = numbers({}, 1); });
        rejects(world, splits, {who + ": output has dtype float32, allowed is int32"},
                [](Call& call) { call.output = Tensor::zeros(call.output.shape(), DType::f32); });
        rejects(world, splits, {who + ": output has shape"}, [](Call& call) {
            call.output = Tensor::zeros({call.world.size, 3}, DType::i32);
        });
        rejects(world, splits, {who + ": output overlaps itself"}, [](Call& call) {
            call.output = Tensor::zeros({call.world.size, 1}, DType::i32).expand({call.world.size, 2});
        });
        rejects(world, splits, {who + ": output overlaps input"},
                [](Call& call) { call.output = call.input; });
        if (world.size > 1) {
            rejects(world, splits, {"input dtype is int32 on", "float32 on " + who}, [](Call& call) {
                call.output = Tensor::zeros(call.output.shape(), DType::f32);
                call.input = Tensor::zeros(call.input.shape(), DType::f32);
            });
            rejects(world, splits, {"input shape", "3"}, [](Call& call) {
                call.output = Tensor::zeros({call.world.size, 3}, DType::i32);
                call.input = Tensor::zeros({call.world.size, 3}, DType::i32);
            });
        }
    }
    if (world.size > 1) {
        rejects(world, std::nullopt, {who + ": input has 1 rows, allowed without input_split_sizes"},
                [](Call& call) {
                    call.input = numbers({1, 2}, 0);
                });
        rejects(world, std::nullopt, {who + ": output has 1 rows, allowed without output_split_sizes"},
                [](Call& call) {
                    call.output = numbers({1, 2}, 0);
                });
    }
    rejects(world, std::nullopt, {who + ": output has", "allowed without splits is as many as input"},
            [](Call& call) {
                call.output = numbers({2 * call.world.size, 2}, 0);
            });
    world.rejects_other_op("all_to_all_single", Call(world, std::nullopt));
}

TEST_CASE("all_to_all_single: errors of the splits") {
    const World world;
    const Sizes ones(static_cast<std::size_t>(world.size), 1);
    const std::string who = "rank " + std::to_string(world.last);
    rejects(world, ones, {who + ": input_split_sizes has", "one per rank of the group"},
            [](Call& call) { call.input_splits->push_back(0); });
    rejects(world, ones, {who + ": output_split_sizes has 0 entries"},
            [](Call& call) { call.output_splits->clear(); });
    rejects(world, ones, {who + ": input_split_sizes is [-1", "negative"},
            [](Call& call) { call.input_splits->front() = -1; });
    rejects(world, ones, {who + ": output_split_sizes is [-1", "negative"},
            [](Call& call) { call.output_splits->front() = -1; });
    rejects(world, ones, {who + ": input_split_sizes is [", "the rows of input"},
            [](Call& call) { call.input_splits->back() = 2; });
    rejects(world, ones, {who + ": output_split_sizes is [", "the rows of output"},
            [](Call& call) { call.output_splits->back() = INT64_MAX; });
    rejects(world, ones, {who + ": input_split_sizes has 2 rows for this rank itself"}, [](Call& call) {
        call.input_splits->back() = 2;
        call.input = numbers({call.world.size + 1, 2}, 0);
    });
    if (world.size > 1) {
        // The last rank sends two rows to rank 0, which expects one.
        const std::string pair = who + " sends 2 to rank 0, which expects 1";
        rejects(world, ones, {pair}, [](Call& call) {
            call.input_splits->front() = 2;
            call.input = numbers({call.world.size + 1, 2}, 0);
        });
        rejects(world, ones, {"rank 0 sends 1 to " + who + ", which expects 3"}, [](Call& call) {
            call.output_splits->front() = 3;
            call.output = numbers({call.world.size + 2, 2}, 0);
        });
        rejects(world, ones, {"splits is given on", "even on " + who}, [](Call& call) {
            call.input_splits.reset();
            call.output_splits.reset();
        });
    }
    const auto fresh = [&](std::int64_t first) {
        Sizes splits = ones;
        if (world.rank == world.last) {
            splits.front() = first;
            splits.push_back(INT64_MAX);
        }
        return [&world, ones, splits] {
            (void)all_to_all_single(numbers({world.size}, 0), splits, ones, world.group);
        };
    };
    world.rejects({who + ": output_split_sizes is ["}, fresh(-5));
    world.rejects({who + ": output_split_sizes is ["}, fresh(5));
}

TEST_CASE("all_to_all_single: async") {
    const auto even = [](const Group& group) {
        return all_to_all_single_async(numbers({2, group.size()}, 100 * group.rank().value).transpose(0, 1),
                                       group);
    };
    const auto check = [](const Group& group, const Tensor& output) {
        REQUIRE(output.shape() == Shape{group.size(), 2});
        for (int r = 0; r < group.size(); ++r) {
            const int own = 100 * r + group.rank().value;
            CHECK(output.data<std::int32_t>()[2 * r] == own);
            CHECK(output.data<std::int32_t>()[2 * r + 1] == own + group.size());
        }
    };
    const auto uneven = [](const Group& group) {
        const std::optional<Sizes> ones = Sizes(static_cast<std::size_t>(group.size()), 1);
        return all_to_all_single_async(Tensor::zeros({group.size(), 2}, DType::i32),
                                       numbers({2, group.size()}, 100 * group.rank().value).transpose(0, 1),
                                       ones, ones, group);
    };
    const auto wrong = [](const Group& group) {
        return all_to_all_single_async(group.rank().value == 0 ? Tensor() : numbers({group.size()}, 0),
                                       group);
    };
    test::check_async_contract(even, check);
    test::check_async_contract(uneven, check);
    test::check_blocking_meets_async([&](const Group& group) { return even(group).wait(); }, even, check);
    test::check_async_error(wrong, uneven, check);
}

TEST_CASE("all_to_all_single: outside the group") {
    const auto even = [](const Group& group) { return all_to_all_single_async(numbers({2}, 0), group); };
    const auto uneven = [](const Group& group) {
        return all_to_all_single_async(numbers({2}, 0), Sizes{1}, Sizes{1}, group);
    };
    CHECK_FALSE(test::result_outside_group(even).defined());
    CHECK_FALSE(test::result_outside_group(uneven).defined());
}

}  // namespace
}  // namespace plumb
