#include <doctest/doctest.h>

#include "ops_all_to_all/all_to_all_cases.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

Layout layout() {
    return make_layout("transposed", {2 * ranks(), 3, ranks()}, {2, 0, 1}, 0, 1, 0, 0);
}

const auto kStart = [](const Group& group) {
    return all_to_all_async(filled_tensor(layout(), DType::f64, rank()), 1, 0, group);
};
const auto kStartInto = [](const Group& group) {
    const Tensor output = Tensor::zeros({2, ranks(), 3 * ranks()}, DType::f64).transpose(1, 2);
    return all_to_all_async(output, filled_tensor(layout(), DType::f64, rank()), 1, 0, group);
};
const auto kStartBackward = [](const Group& group) {
    return all_to_all_backward_async(filled_tensor(layout(), DType::f64, rank()), 0, 1, group);
};
const auto kCheck = [](const Group&, const Tensor& result) {
    check_redistributed(result, layout(), DType::f64, 1, 0);
};

}  // namespace

TEST_CASE("all_to_all_async keeps the async contract") {
    check_async_contract(kStart, kCheck);
    check_async_contract(kStartInto, kCheck);
    check_async_contract(kStartBackward, kCheck);
    check_blocking_meets_async(
        [](const Group& group) {
            return all_to_all(filled_tensor(layout(), DType::f64, rank()), 1, 0, group);
        },
        kStart, kCheck);
}

TEST_CASE("all_to_all outside the group does nothing") {
    CHECK_FALSE(result_outside_group(kStart).defined());
    CHECK_FALSE(result_outside_group(kStartInto).defined());
    const Group outside(MPI_COMM_NULL, "elsewhere");
    const Tensor x = Tensor::zeros({1, 1}, DType::f32);
    CHECK_FALSE(all_to_all(x, 0, 1, outside).defined());
    CHECK_FALSE(all_to_all(x, x, 0, 1, outside).defined());
}

TEST_CASE("all_to_all_async: an error comes from wait, and the next call succeeds") {
    const std::string text = check_async_error(
        [](const Group& group) {
            return all_to_all_async(Tensor::zeros({ranks(), ranks()}, DType::f32), 1, 1, group);
        },
        kStart, kCheck);
    CHECK(text.find("both 1") != std::string::npos);
}
