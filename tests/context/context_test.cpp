// The groups of every mesh, by closed form.
#include <plumb/context/comm_context.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include <plumb/core/error.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::ArgumentError;
using plumb::CommContext;
using plumb::GlobalRank;
using plumb::Group;
using plumb::GroupRank;
using plumb::Mesh;
using plumb::ParallelMode;
using plumb::test::expected_numbers;
using plumb::test::message_of;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::start;

using Axes = std::vector<std::pair<ParallelMode, int>>;

constexpr auto kData = ParallelMode::data;
constexpr auto kTensor = ParallelMode::tensor;
constexpr auto kPipeline = ParallelMode::pipeline;
constexpr auto kSequence = ParallelMode::sequence;
constexpr auto kContext = ParallelMode::context;
constexpr auto kExpert = ParallelMode::expert;

/// The meshes tested at this number of ranks.
std::vector<Axes> meshes() {
    switch (ranks()) {
        case 1:
            return {{{kData, 1}}, {{kSequence, 1}, {kData, 1}}, {{kExpert, 1}, {kTensor, 1}, {kPipeline, 1}}};
        case 2:
            return {
                {{kData, 2}}, {{kData, 2}, {kSequence, 1}}, {{kData, 1}, {kSequence, 2}}, {{kContext, 2}}};
        case 3:
            return {
                {{kSequence, 3}}, {{kData, 3}, {kTensor, 1}}, {{kTensor, 1}, {kPipeline, 3}, {kExpert, 1}}};
        case 4:
            return {{{kData, 4}},
                    {{kData, 2}, {kSequence, 2}},
                    {{kSequence, 2}, {kData, 2}},
                    {{kTensor, 2}, {kContext, 1}, {kExpert, 2}},
                    {{kData, 1}, {kTensor, 4}}};
        case 8:
            return {{{kData, 8}},
                    {{kData, 2}, {kSequence, 4}},
                    {{kSequence, 4}, {kData, 2}},
                    {{kPipeline, 2}, {kData, 2}, {kTensor, 2}},
                    {{kExpert, 2}, {kContext, 1}, {kSequence, 2}, {kData, 2}},
                    {{kData, 2}, {kTensor, 1}, {kPipeline, 2}, {kSequence, 1}, {kContext, 2}, {kExpert, 1}}};
        default:
            return {};
    }
}

std::string text_of(const Axes& axes) {
    std::string text;
    for (const auto& [mode, size] : axes) {
        text += (text.empty() ? "" : ",") + to_string(mode) + "=" + std::to_string(size);
    }
    return text;
}

/// Row-major: the last axis is the fastest.
std::vector<int> coordinates_of(const Axes& axes, int of) {
    std::vector<int> coordinates;
    for (std::size_t a = 0; a < axes.size(); ++a) {
        int stride = 1;
        for (std::size_t b = a + 1; b < axes.size(); ++b) {
            stride *= axes[b].second;
        }
        coordinates.push_back(of / stride % axes[a].second);
    }
    return coordinates;
}

/// The ranks that differ from `me` only in the axes of `mode`, in increasing order.
std::vector<GlobalRank> members(const Axes& axes, ParallelMode mode, int me) {
    const auto mine = coordinates_of(axes, me);
    std::vector<GlobalRank> result;
    for (int r = 0; r < ranks(); ++r) {
        const auto theirs = coordinates_of(axes, r);
        bool same_elsewhere = true;
        for (std::size_t a = 0; a < axes.size(); ++a) {
            same_elsewhere = same_elsewhere && (contains(mode, axes[a].first) || theirs[a] == mine[a]);
        }
        if (same_elsewhere) {
            result.emplace_back(r);
        }
    }
    return result;
}

/// Every union of the mesh's axes, none excepted.
std::vector<ParallelMode> unions(const Axes& axes) {
    std::vector<ParallelMode> modes;
    for (unsigned subset = 1; subset < 1U << axes.size(); ++subset) {
        std::optional<ParallelMode> mode;
        for (std::size_t a = 0; a < axes.size(); ++a) {
            if ((subset >> a & 1U) != 0) {
                mode = mode ? *mode + axes[a].first : axes[a].first;
            }
        }
        modes.push_back(*mode);
    }
    return modes;
}

std::vector<GlobalRank> list(std::span<const GlobalRank> span) {
    return {span.begin(), span.end()};
}

void check_group(const Group& group, const std::vector<GlobalRank>& wanted) {
    CHECK(group.is_member());
    CHECK(list(group.ranks()) == wanted);
    CHECK(group.size() == static_cast<int>(wanted.size()));
    const auto place = std::find(wanted.begin(), wanted.end(), GlobalRank(rank())) - wanted.begin();
    CHECK(group.rank() == GroupRank(static_cast<int>(place)));
    for (int i = 0; i < group.size(); ++i) {
        CHECK(group.global_rank(GroupRank(i)) == wanted[static_cast<std::size_t>(i)]);
        CHECK(group.group_rank(group.global_rank(GroupRank(i))) == GroupRank(i));
    }
    for (int r = 0; r < ranks(); ++r) {
        const bool in = std::find(wanted.begin(), wanted.end(), GlobalRank(r)) != wanted.end();
        CHECK(group.group_rank(GlobalRank(r)).has_value() == in);
    }
    // MPI sees the same group.
    int size = 0;
    int position = -1;
    MPI_Comm_size(group.communicator(), &size);
    MPI_Comm_rank(group.communicator(), &position);
    CHECK(size == group.size());
    CHECK(position == static_cast<int>(place));
    // And it works.
    Numbers::Call call;
    call.number = rank();
    const auto operation = start(group.channel(), call);
    plumb::mpi::wait(*operation);
    CHECK(operation->gathered() == expected_numbers(group.size(), 1, [&](int r) {
              return wanted[static_cast<std::size_t>(r)].value;
          }));
}

TEST_CASE("the ranks of every group of every mesh") {
    REQUIRE_FALSE(meshes().empty());
    for (const auto& axes : meshes()) {
        CAPTURE(text_of(axes));
        CommContext context(text_of(axes));
        CHECK(context.world_size() == ranks());
        CHECK(context.global_rank() == GlobalRank(rank()));
        CHECK(context.mesh().to_string() == text_of(axes));
        const auto all = members(axes, unions(axes).back(), rank());
        REQUIRE(all.size() == static_cast<std::size_t>(ranks()));
        check_group(context.group(ParallelMode::global), all);
        for (const auto mode : unions(axes)) {
            CAPTURE(to_string(mode));
            CHECK(context.has(mode));
            const auto wanted = members(axes, mode, rank());
            const Group& group = context.group(mode);
            check_group(group, wanted);
            CHECK(group.name() == to_string(mode));
            CHECK(context.world_size(mode) == static_cast<int>(wanted.size()));
            CHECK(context.local_rank(mode) == group.rank());
            CHECK(list(context.ranks_in_group(mode)) == wanted);
            CHECK(&context.group(to_string(mode)) == &group);
            CHECK(&context.group(manifest_name(mode)) == &group);
        }
        CHECK(context.modes().size() == unions(axes).size() + 3);
        CHECK(context.modes().front() == ParallelMode::global);
    }
}

TEST_CASE("coordinates and neighbours") {
    for (const auto& axes : meshes()) {
        CAPTURE(text_of(axes));
        CommContext context(text_of(axes));
        for (int r = 0; r < ranks(); ++r) {
            CHECK(context.coordinates(GlobalRank(r)) == coordinates_of(axes, r));
        }
        CHECK(context.coordinates() == coordinates_of(axes, rank()));
        for (std::size_t a = 0; a < axes.size(); ++a) {
            const auto line = members(axes, axes[a].first, rank());
            const int here = coordinates_of(axes, rank())[a];
            const auto neighbours = context.neighbours(axes[a].first);
            const auto at = [&](int i) -> std::optional<GlobalRank> {
                if (i < 0 || i >= static_cast<int>(line.size())) {
                    return {};
                }
                return line[static_cast<std::size_t>(i)];
            };
            CHECK(neighbours.previous == at(here - 1));
            CHECK(neighbours.next == at(here + 1));
        }
        // As MPI sees it on the Cartesian communicator.
        std::vector<int> by_mpi(axes.size(), -1);
        MPI_Cart_coords(context.group(ParallelMode::global).communicator(), rank(),
                        static_cast<int>(axes.size()), by_mpi.data());
        CHECK(by_mpi == coordinates_of(axes, rank()));

        context.destroy();
        CHECK(context.coordinates() == coordinates_of(axes, rank()));
    }
}

TEST_CASE("nodes: all test ranks share one") {
    CommContext context(text_of(meshes().front()));
    std::vector<GlobalRank> all;
    for (int r = 0; r < ranks(); ++r) {
        all.emplace_back(r);
    }
    check_group(context.group(ParallelMode::intra_node), all);
    check_group(context.group(ParallelMode::inter_node), {GlobalRank(rank())});
    CHECK(context.node_local_rank() == rank());
    CHECK(context.node_size() == ranks());
}

TEST_CASE("questions about what is not there") {
    const CommContext context(text_of({{kData, ranks()}, {kTensor, 1}}));
    const std::string mesh = "data=" + std::to_string(ranks()) + ",tensor=1";
    CHECK(message_of<ArgumentError>([&] { static_cast<void>(context.group(kSequence)); }) ==
          "mode 'sequence' has no group in mesh '" + mesh +
              "', allowed are global, data, tensor, data+tensor, intra_node, inter_node");
    CHECK(message_of<ArgumentError>([&] { static_cast<void>(context.group("pipes")); }) ==
          "there is no group 'pipes', allowed are global, data, tensor, data+tensor, intra_node, inter_node");
    CHECK_FALSE(context.has(kSequence));
    CHECK_FALSE(context.has(kData + kSequence));
    CHECK_THROWS_AS(static_cast<void>(context.world_size(kSequence)), ArgumentError);
    CHECK(message_of<ArgumentError>([&] { static_cast<void>(context.neighbours(kSequence)); }) ==
          "axis is 'sequence', allowed are the axes of mesh '" + mesh + "'");
    CHECK_THROWS_AS(static_cast<void>(context.neighbours(ParallelMode::global)), ArgumentError);
    const std::string last = std::to_string(ranks() - 1);
    for (const int bad : {-1, ranks()}) {
        CHECK(message_of<ArgumentError>([&] { static_cast<void>(context.coordinates(GlobalRank(bad))); }) ==
              "rank is " + std::to_string(bad) + ", which is outside the context, allowed is 0 … " + last);
        CHECK(message_of<ArgumentError>([&] {
                  static_cast<void>(context.group(kData).global_rank(GroupRank(bad)));
              }) == "group rank " + std::to_string(bad) + " is outside group 'data' of " +
                        std::to_string(ranks()) + " ranks, allowed is 0 … " + last);
        CHECK_FALSE(context.group(kData).group_rank(GlobalRank(bad)));
    }
}

TEST_CASE("contexts move, and are destroyed once") {
    const std::string mesh = "data=" + std::to_string(ranks());
    CommContext first(mesh);
    const Group* group = &first.group(kData);
    CommContext second(std::move(first));
    CHECK(&second.group(kData) == group);
    CHECK_FALSE(first.has(kData));  // NOLINT: that is the point
    CommContext third("sequence=" + std::to_string(ranks()));
    third = std::move(second);
    CHECK(third.has(kData));
    CHECK_FALSE(third.has(kSequence));
    CHECK(third.mesh().to_string() == mesh);
    third.destroy();
    CHECK_FALSE(third.group(kData).is_member());
    CHECK(third.group(kData).communicator() == MPI_COMM_NULL);
    third.destroy();
    CHECK(message_of<ArgumentError>([&] { third.init_group("late", {}); }) ==
          "group 'late' cannot be made: the context was destroyed");
    CommContext fourth(mesh);
    third = std::move(fourth);
    check_group(third.group(kData), members({{kData, ranks()}}, kData, rank()));
}

TEST_CASE("several contexts at once, destroyed in another order") {
    std::vector<CommContext> contexts;
    for (int i = 0; i < 4; ++i) {
        contexts.emplace_back("data=" + std::to_string(ranks()));
    }
    contexts.erase(contexts.begin() + 1);
    contexts[0].destroy();
    check_group(contexts[1].group(kData), members({{kData, ranks()}}, kData, rank()));
}

}  // namespace
