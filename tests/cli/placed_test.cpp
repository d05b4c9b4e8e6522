#include <doctest/doctest.h>

#include <cstring>

#include "cli/placed.h"

using namespace plumb;
using namespace plumb::cli;

namespace {

Tensor numbered(const Shape& shape) {
    Tensor tensor = Tensor::empty(shape, DType::i32);
    for (std::int64_t i = 0; i < tensor.element_count(); ++i)
        tensor.data<std::int32_t>()[i] = static_cast<std::int32_t>(i + 1);
    return tensor;
}

}  // namespace

TEST_CASE("every layout holds the same elements, and only the first is contiguous") {
    for (const Shape& shape : {Shape{}, Shape{4}, Shape{2, 3}, Shape{2, 3, 4}, Shape{2, 0}}) {
        const Tensor values = numbered(shape);
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced}) {
            const Placed placed = Placed::holding(values, layout);
            CHECK(placed.tensor().shape() == shape);
            CHECK(placed.tensor().to_vector<std::int32_t>() == values.to_vector<std::int32_t>());
            CHECK(placed.unchanged());
            if (values.element_count() > 1)
                CHECK(placed.tensor().is_contiguous() == (layout == Layout::contiguous));
        }
    }
    const Placed repeated = Placed::holding(numbered({1, 3}).expand({2, 3}).clone(), Layout::expanded);
    CHECK(repeated.tensor().strides()[0] == 0);
    CHECK(repeated.tensor().to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("writing is seen, inside and outside") {
    for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::sliced}) {
        const Placed placed = Placed::holding(numbered({2, 3}), layout);
        Tensor tensor = placed.tensor();
        tensor.data<std::int32_t>()[0] = 100;
        CHECK_FALSE(placed.unchanged());
        CHECK(placed.outside_unchanged());
    }
    const Placed placed = Placed::blank({3}, DType::i32, Layout::sliced);
    Tensor tensor = placed.tensor();
    REQUIRE(tensor.strides()[0] == 2);
    tensor.data<std::int32_t>()[1] = 100;  // between the first and the second element
    CHECK_FALSE(placed.outside_unchanged());
}
