#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "cli/draw.h"

using namespace plumb;
using namespace plumb::cli;

TEST_CASE("what is drawn is a function of key and index") {
    CHECK(draw(1, 2) == draw(1, 2));
    std::set<std::uint64_t> seen;
    for (std::uint64_t key = 0; key < 30; ++key)
        for (std::uint64_t index = 0; index < 30; ++index)
            seen.insert(draw(key, index));
    CHECK(seen.size() == 900);
    // Element i does not depend on how many there are.
    const Tensor few = draw_tensor(5, {4}, DType::f32, Data::real);
    const Tensor many = draw_tensor(5, {9}, DType::f32, Data::real);
    CHECK(few.to_vector<float>() == many.narrow(0, 0, 4).to_vector<float>());
}

TEST_CASE("ranges") {
    bool negative = false;
    bool fraction = false;
    for (const double value : draw_tensor(1, {1000}, DType::f64, Data::real).to_vector<double>()) {
        CHECK(std::abs(value) <= 2);
        negative = negative || value < 0;
        fraction = fraction || value != std::floor(value);
    }
    CHECK(negative);
    CHECK(fraction);
    std::set<float> whole;
    for (const float value : draw_tensor(1, {1000}, DType::f32, Data::whole).to_vector<float>())
        whole.insert(value);
    CHECK(whole == std::set<float>{-4, -3, -2, -1, 0, 1, 2, 3, 4});
    bool special = false;
    for (const float value : draw_tensor(1, {5000}, DType::f32, Data::bits).to_vector<float>())
        special = special || !std::isfinite(value);
    CHECK(special);
    const Tensor bools = draw_tensor(1, {1000}, DType::boolean, Data::bits);
    for (std::int64_t i = 0; i < 1000; ++i)
        CHECK(static_cast<int>(bools.bytes()[i]) <= 1);
}
