#include <doctest/doctest.h>

#include "ops_regions/regions.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// [1, 2n] of a group of n whose first rank is `first`: 10 first + place.
Tensor whole(int first, int n) {
    std::vector<float> values;
    for (int i = 0; i < 2 * n; ++i) {
        values.push_back(static_cast<float>(10 * first + i));
    }
    return Tensor::of({1, 2 * n}, values);
}

}  // namespace

TEST_CASE("regions: by default in the sequence groups of the default context, from their first ranks") {
    const int n = ranks() % 2 == 0 ? ranks() / 2 : ranks();
    init_default_context("data=" + std::to_string(ranks() / n) + ",sequence=" + std::to_string(n));
    const int first = rank() / n * n;
    const int position = rank() % n;
    const Tensor input = rank() == first ? whole(first, n) : Tensor{};
    const auto chunk = scatter_to_sequence_parallel_region(input).to_vector<float>();
    const float low = static_cast<float>(10 * first + 2 * position);
    CHECK(chunk == std::vector<float>{low, low + 1});

    const Tensor part = Tensor::of<float>({1, 2}, chunk);
    CHECK(gather_from_sequence_parallel_region(part).to_vector<float>() ==
          whole(first, n).to_vector<float>());
    CHECK(gather_from_sequence_parallel_region(part, Rank0Only::no, -1, "sequence").shape() ==
          Shape{1, 2 * n});

    const auto scaled = gather_from_sequence_parallel_region_backward(input).to_vector<float>();
    const auto times = static_cast<float>(n);
    CHECK(scaled == std::vector<float>{low * times, (low + 1) * times});
    const auto mean = scatter_to_sequence_parallel_region_backward(part).to_vector<float>();
    for (std::size_t i = 0; i < mean.size(); ++i) {
        CHECK(mean[i] == whole(first, n).to_vector<float>()[i] / times);
    }
    destroy_default_context();
}

TEST_CASE("regions: position 0 is the group's first rank, not the job's") {
    auto context = agreeing_context();
    std::vector<GlobalRank> reversed;
    for (int r = ranks() - 1; r >= 0; --r) {
        reversed.emplace_back(r);
    }
    const Group& group = context.init_group("reversed", reversed);
    const int position = ranks() - 1 - rank();
    const Tensor input = position == 0 ? whole(rank(), ranks()) : Tensor{};
    const float low = static_cast<float>(10 * (ranks() - 1) + 2 * position);
    CHECK(scatter_to_sequence_parallel_region(input, Rank0Only::yes, 1, group).to_vector<float>() ==
          std::vector<float>{low, low + 1});
    CHECK(gather_from_sequence_parallel_region(Tensor::of<float>({1, 1}, {static_cast<float>(position)}),
                                               Rank0Only::yes, 1, group)
              .to_vector<float>()
              .back() == static_cast<float>(ranks() - 1));
}

TEST_CASE("regions: ranks outside the group get nothing, the others go on") {
    auto context = agreeing_context();
    const Group& group = context.init_group("first", std::vector<GlobalRank>{GlobalRank(0)});
    const Tensor input = Tensor::of<float>({}, {1.5F});
    const Tensor output = scatter_to_sequence_parallel_region(input, Rank0Only::yes, 1, group);
    CHECK(output.defined() == (rank() == 0));
    if (output.defined()) {
        CHECK(output.to_vector<float>() == std::vector<float>{1.5F});
    }
}

TEST_CASE("grad modes have names") {
    CHECK(name(GradMode::replica_mean) == "replica_mean");
    CHECK(grad_mode_from_name("replica_mean") == GradMode::replica_mean);
    CHECK_THROWS_AS((void)grad_mode_from_name("mean"), ArgumentError);
}
