#include <doctest/doctest.h>

#include <string>

#include <plumb/ops/all_to_all.h>

#include "support/job.h"

using namespace plumb;
using namespace plumb::test;

TEST_CASE("all_to_all within each group of a mesh") {
    if (ranks() % 2 != 0) {
        return;
    }
    const CommContext context(MPI_COMM_WORLD, "data=2,sequence=" + std::to_string(ranks() / 2));
    for (const auto mode :
         {ParallelMode::data, ParallelMode::sequence, ParallelMode::data + ParallelMode::sequence}) {
        const Group& group = context.group(mode);
        const std::int64_t n = group.size();
        const Tensor x = Tensor::empty({n, 2}, DType::i32);
        Tensor filled = x;
        for (std::int64_t i = 0; i < 2 * n; ++i) {
            filled.data<std::int32_t>()[i] = 1000 * rank() + static_cast<std::int32_t>(i);
        }
        const auto values = all_to_all(x, 1, 0, group).to_vector<std::int32_t>();
        REQUIRE(values.size() == static_cast<std::size_t>(2 * n));
        for (std::int64_t i = 0; i < n; ++i) {
            const int source = group.global_rank(GroupRank(static_cast<int>(i))).value;
            for (std::int64_t k = 0; k < 2; ++k) {
                CHECK(values[static_cast<std::size_t>(2 * i + k)] ==
                      1000 * source + 2 * group.rank().value + k);
            }
        }
    }
}
