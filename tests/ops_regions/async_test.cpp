#include <doctest/doctest.h>

#include "ops_regions/regions.h"

using namespace plumb;
using namespace plumb::test;

namespace {

constexpr DType kDType = DType::f32;

/// Rank r's whole is [2, 3n], value 100 r + place; its chunk [2, 3].
Tensor whole(int r) {
    std::vector<float> values;
    for (int i = 0; i < 6 * ranks(); ++i) {
        values.push_back(static_cast<float>(100 * r + i));
    }
    return Tensor::of({2, 3 * ranks()}, values);
}

Tensor part(int r) {
    std::vector<float> values;
    for (int i = 0; i < 6; ++i) {
        values.push_back(static_cast<float>(100 * r + i));
    }
    return Tensor::of({3, 2}, values).transpose(0, 1);
}

/// Element (i, j) of what `whole(r)` makes chunk `position`, and of `part(r)`.
float in_chunk(int r, int position, int i, int j) {
    return static_cast<float>(100 * r + i * 3 * ranks() + position * 3 + j);
}
float in_part(int r, int i, int j) {
    return static_cast<float>(100 * r + 2 * j + i);
}

template <class Value>
void check_matrix(const Tensor& result, int columns, Value&& value) {
    REQUIRE(result.shape() == Shape{2, columns});
    const auto values = result.to_vector<float>();
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < columns; ++j) {
            CHECK(values[static_cast<std::size_t>(i * columns + j)] == value(i, j));
        }
    }
}

Tensor given(int columns) {
    return Tensor::zeros({columns, 2}, kDType).transpose(0, 1);
}

const auto kScatter = [](const Group& group) {
    return scatter_to_sequence_parallel_region_async(rank() == 0 ? whole(0) : Tensor{}, Rank0Only::yes, 1,
                                                     group);
};
const auto kScatterInto = [](const Group& group) {
    return scatter_to_sequence_parallel_region_async(given(3), whole(rank()), Rank0Only::yes, -1, group);
};
const auto kCheckScatter = [](const Group&, const Tensor& result) {
    check_matrix(result, 3, [](int i, int j) { return in_chunk(0, rank(), i, j); });
};

const auto kSplit = [](const Group& group) {
    return scatter_to_sequence_parallel_region_async(whole(rank()), Rank0Only::no, 1, group);
};
const auto kCheckSplit = [](const Group&, const Tensor& result) {
    check_matrix(result, 3, [](int i, int j) { return in_chunk(rank(), rank(), i, j); });
};

const auto kGather = [](const Group& group) {
    return gather_from_sequence_parallel_region_async(part(rank()), Rank0Only::yes, 1, group);
};
const auto kGatherInto = [](const Group& group) {
    return gather_from_sequence_parallel_region_async(given(3 * ranks()), part(rank()), Rank0Only::no, 1,
                                                      group);
};
const auto kCheckGather = [](const Group&, const Tensor& result) {
    check_matrix(result, 3 * ranks(), [](int i, int j) { return in_part(j / 3, i, j % 3); });
};

const auto kScatterBackward = [](const Group& group) {
    return scatter_to_sequence_parallel_region_backward_async(part(rank()), Rank0Only::yes, 1, group);
};
const auto kScatterBackwardInto = [](const Group& group) {
    return scatter_to_sequence_parallel_region_backward_async(given(3 * ranks()), part(rank()),
                                                              Rank0Only::yes, 1, group);
};
const auto kCheckScatterBackward = [](const Group&, const Tensor& result) {
    check_matrix(result, 3 * ranks(),
                 [](int i, int j) { return in_part(j / 3, i, j % 3) / static_cast<float>(ranks()); });
};

const auto kGatherBackward = [](const Group& group) {
    return gather_from_sequence_parallel_region_backward_async(rank() == 0 ? whole(0) : Tensor{},
                                                               Rank0Only::yes, 1, group);
};
const auto kGatherBackwardInto = [](const Group& group) {
    return gather_from_sequence_parallel_region_backward_async(given(3), whole(rank()), Rank0Only::yes, 1,
                                                               group);
};
const auto kCheckGatherBackward = [](const Group&, const Tensor& result) {
    check_matrix(result, 3,
                 [](int i, int j) { return in_chunk(0, rank(), i, j) * static_cast<float>(ranks()); });
};

}  // namespace

TEST_CASE("scatter region async keeps the async contract") {
    check_async_contract(kScatter, kCheckScatter);
    check_async_contract(kScatterInto, kCheckScatter);
    check_async_contract(kSplit, kCheckSplit);
    check_async_contract(kScatterBackward, kCheckScatterBackward);
    check_async_contract(kScatterBackwardInto, kCheckScatterBackward);
}

TEST_CASE("gather region async keeps the async contract") {
    check_async_contract(kGather, kCheckGather);
    check_async_contract(kGatherInto, kCheckGather);
    check_async_contract(kGatherBackward, kCheckGatherBackward);
    check_async_contract(kGatherBackwardInto, kCheckGatherBackward);
}

TEST_CASE("regions: a blocking call meets async ones") {
    check_blocking_meets_async(
        [](const Group& group) {
            return scatter_to_sequence_parallel_region(whole(rank()), Rank0Only::yes, 1, group);
        },
        kScatter, kCheckScatter);
    check_blocking_meets_async(
        [](const Group& group) {
            return gather_from_sequence_parallel_region(part(rank()), Rank0Only::yes, 1, group);
        },
        kGather, kCheckGather);
    check_blocking_meets_async(
        [](const Group& group) {
            return scatter_to_sequence_parallel_region_backward(part(rank()), Rank0Only::yes, 1, group);
        },
        kScatterBackward, kCheckScatterBackward);
    check_blocking_meets_async(
        [](const Group& group) {
            return gather_from_sequence_parallel_region_backward(whole(rank()), Rank0Only::yes, 1, group);
        },
        kGatherBackward, kCheckGatherBackward);
}

TEST_CASE("regions outside the group do nothing") {
    CHECK_FALSE(result_outside_group(kScatter).defined());
    CHECK_FALSE(result_outside_group(kScatterInto).defined());
    CHECK_FALSE(result_outside_group(kGather).defined());
    CHECK_FALSE(result_outside_group(kScatterBackward).defined());
    CHECK_FALSE(result_outside_group(kGatherBackward).defined());
    const Group outside(MPI_COMM_NULL, "elsewhere");
    CHECK_FALSE(scatter_to_sequence_parallel_region({}, Rank0Only::yes, 1, outside).defined());
    CHECK_FALSE(gather_from_sequence_parallel_region({}, Rank0Only::yes, 1, outside).defined());
    CHECK_FALSE(scatter_to_sequence_parallel_region_backward({}, Rank0Only::yes, 1, outside).defined());
    CHECK_FALSE(gather_from_sequence_parallel_region_backward({}, Rank0Only::yes, 1, outside).defined());
}

TEST_CASE("regions: an async error comes from wait, and the next call succeeds") {
    const std::string text = check_async_error(
        [](const Group& group) {
            return scatter_to_sequence_parallel_region_async({}, Rank0Only::yes, 1, group);
        },
        kScatter, kCheckScatter);
    CHECK(text.find("rank 0: input is an undefined") != std::string::npos);
    check_async_error(
        [](const Group& group) {
            const Tensor wrong =
                rank() == ranks() - 1 ? Tensor::zeros({1}, kDType) : Tensor::zeros({2, 3}, kDType);
            return scatter_to_sequence_parallel_region_async(wrong, whole(rank()), Rank0Only::yes, 1, group);
        },
        kGather, kCheckGather);
}
