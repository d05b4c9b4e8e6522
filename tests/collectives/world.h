#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include <plumb/comm/all_gather.h>
#include <plumb/comm/broadcast.h>
#include <plumb/context/comm_context.h>

#include "support/agreed_error.h"
#include "support/async_contract.h"
#include "support/job.h"
#include "support/samples.h"

namespace plumb::test {

/// All ranks.
struct World {
    explicit World(CheckLevel level = CheckLevel::agree) : context(MPI_COMM_WORLD, flat_mesh(), level) {}

    CommContext context;
    const Group& group = context.group(ParallelMode::global);
    int size = group.size();
    int rank = group.rank().value;
    int last = size - 1;

    /// `call` is wrong on some rank: the same error everywhere, holding all of `parts`; then the group still
    /// works.
    template <class Call>
    std::string rejects(std::initializer_list<std::string_view> parts, Call&& call) const {
        const std::string text = same_error_everywhere(call, parts);
        const Tensor all = all_gather(Tensor::of<std::int32_t>({}, {rank * 7 + 1}), group);
        for (int r = 0; r < size; ++r) {
            CHECK(all.data<std::int32_t>()[r] == r * 7 + 1);
        }
        return text;
    }

    /// The last rank calls a broadcast where the others call `call`.
    template <class Call>
    void rejects_other_op(std::string_view name, Call&& call) const {
        if (size == 1) {
            return;
        }
        rejects({name, "broadcast", "operation"}, [&] {
            if (rank == last) {
                (void)broadcast(Tensor::zeros({2}, DType::f32), GroupRank(0), group);
            } else {
                call();
            }
        });
    }
};

inline Tensor numbers(const Shape& shape, int first) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
        values.push_back(first + static_cast<std::int32_t>(i));
    }
    return Tensor::of(shape, values);
}

/// Four ranks as two groups of two, {0, 1} and {2, 3}: `call(group)` names global rank 0 as its root, so it
/// is right in the first group, and wrong, on all its ranks alike, in the second.
template <class Call>
void check_root_in_one_group_only(std::string_view root_argument, Call&& call) {
    if (ranks() != 4) {
        return;
    }
    CommContext context(MPI_COMM_WORLD, "data=2,sequence=2", CheckLevel::agree);
    const Group& group = context.group(ParallelMode::sequence);
    MPI_Comm mine = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() / 2, rank(), &mine);
    if (rank() < 2) {
        CHECK_NOTHROW(call(group));
    } else {
        same_error_everywhere([&] { call(group); }, {root_argument, "global rank 0", "2,3"}, mine);
    }
    MPI_Comm_free(&mine);
}

}  // namespace plumb::test
