#include <doctest/doctest.h>

#include "ops_halo/halos.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// Rank r's shard is [2, 2]: 10 r + 2 i + j + 1, laid out column by column.
Tensor own(int columns) {
    std::vector<float> values;
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < 2; ++i) {
            values.push_back(static_cast<float>(10 * rank() + columns * i + j + 1));
        }
    }
    return Tensor::of({columns, 2}, values).transpose(0, 1);
}

float value(int r, int columns, int i, int j) {
    return exists(r) ? static_cast<float>(10 * r + columns * i + j + 1) : 0.0F;
}

/// Halos of 1 and 2 along dim 1.
template <HaloImpl kImpl>
const auto kStart = [](const Group& group) { return cp_halo_exchange_async(own(2), 1, 2, 1, group, kImpl); };
template <HaloImpl kImpl>
const auto kStartInto = [](const Group& group) {
    const Tensor output = Tensor::zeros({5, 2}, DType::f32).transpose(0, 1);
    return cp_halo_exchange_async(output, own(2), 1, 2, 1, group, kImpl);
};
const auto kCheck = [](const Group&, const Tensor& result) {
    REQUIRE(result.shape() == Shape{2, 5});
    const auto values = result.to_vector<float>();
    for (int i = 0; i < 2; ++i) {
        const int r = rank();
        const std::vector<float> row = {value(r - 1, 2, i, 1), value(r, 2, i, 0), value(r, 2, i, 1),
                                        value(r + 1, 2, i, 0), value(r + 1, 2, i, 1)};
        CHECK(std::equal(row.begin(), row.end(), values.begin() + 5 * i));
    }
};

template <HaloImpl kImpl>
const auto kStartBackward =
    [](const Group& group) { return cp_halo_exchange_backward_async(own(5), 1, 2, 1, group, kImpl); };
template <HaloImpl kImpl>
const auto kStartBackwardInto = [](const Group& group) {
    const Tensor output = Tensor::zeros({2, 2}, DType::f32).transpose(0, 1);
    return cp_halo_exchange_backward_async(output, own(5), 1, 2, 1, group, kImpl);
};
const auto kCheckBackward = [](const Group&, const Tensor& result) {
    REQUIRE(result.shape() == Shape{2, 2});
    const auto values = result.to_vector<float>();
    for (std::size_t i = 0; i < 2; ++i) {
        const int r = rank();
        const int row = static_cast<int>(i);
        CHECK(values[2 * i] == value(r, 5, row, 1) + value(r - 1, 5, row, 3));
        CHECK(values[2 * i + 1] == value(r, 5, row, 2) + value(r + 1, 5, row, 0) + value(r - 1, 5, row, 4));
    }
};

template <HaloImpl kImpl>
void check_contract() {
    check_async_contract(kStart<kImpl>, kCheck);
    check_async_contract(kStartInto<kImpl>, kCheck);
    check_async_contract(kStartBackward<kImpl>, kCheckBackward);
    check_async_contract(kStartBackwardInto<kImpl>, kCheckBackward);
    check_blocking_meets_async(
        [](const Group& group) { return cp_halo_exchange(own(2), 1, 2, 1, group, kImpl); }, kStart<kImpl>,
        kCheck);
    check_blocking_meets_async(
        [](const Group& group) { return cp_halo_exchange_backward(own(5), 1, 2, 1, group, kImpl); },
        kStartBackward<kImpl>, kCheckBackward);
}

}  // namespace

TEST_CASE("halo exchange async keeps the async contract: p2p") {
    check_contract<HaloImpl::p2p>();
}

TEST_CASE("halo exchange async keeps the async contract: collective") {
    check_contract<HaloImpl::collective>();
}

TEST_CASE("halo exchange outside the group does nothing") {
    CHECK_FALSE(result_outside_group(kStart<HaloImpl::p2p>).defined());
    CHECK_FALSE(result_outside_group(kStartInto<HaloImpl::collective>).defined());
    CHECK_FALSE(result_outside_group(kStartBackward<HaloImpl::p2p>).defined());
    const Group outside(MPI_COMM_NULL, "elsewhere");
    CHECK_FALSE(cp_halo_exchange({}, 1, 1, 0, outside).defined());
    CHECK_FALSE(cp_halo_exchange_backward({}, 1, 1, 0, outside).defined());
}

TEST_CASE("halo exchange: an async error comes from wait, and the next call succeeds") {
    const std::string text = check_async_error(
        [](const Group& group) { return cp_halo_exchange_async(own(2), 3, 0, 1, group, HaloImpl::p2p); },
        kStart<HaloImpl::p2p>, kCheck);
    CHECK(text.find("left is 3") != std::string::npos);
}
