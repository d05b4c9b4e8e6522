#include "cli/placed.h"

#include <cstring>

#include <plumb/tensor/block.h>

namespace plumb::cli {

namespace {

constexpr int kPattern = 0xa5;

Layout possible(Layout wanted, const Shape& shape) {
    if (wanted == Layout::expanded && (shape.ndim() == 0 || shape[0] == 0)) wanted = Layout::sliced;
    if (wanted == Layout::transposed && shape.ndim() < 2) wanted = Layout::sliced;
    return wanted;
}

Shape base_shape(Layout layout, const Shape& shape) {
    const int last = shape.ndim() - 1;
    switch (layout) {
        case Layout::contiguous:
            return shape;
        case Layout::transposed:
            return shape.with(0, shape[last]).with(last, shape[0]);
        case Layout::sliced:
            if (last < 0) return {3};
            return last == 0 ? Shape{2 * shape[0] + 1}
                             : shape.with(0, 2 * shape[0] + 1).with(last, shape[last] + 2);
        case Layout::expanded:
            return shape.with(0, 1);
    }
    return shape;
}

Tensor look(Layout layout, const Tensor& base, const Shape& shape) {
    const int last = shape.ndim() - 1;
    switch (layout) {
        case Layout::contiguous:
            return base;
        case Layout::transposed:
            return base.transpose(0, last);
        case Layout::sliced: {
            if (last < 0) return base.select(0, 1);
            const Tensor rows = base.narrow(0, 1, 2 * shape[0]).stride_by(0, 2);
            return last == 0 ? rows : rows.narrow(last, 1, shape[last]);
        }
        case Layout::expanded:
            return base.expand(shape);
    }
    return base;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
    return std::memcmp(a.bytes(), b.bytes(), a.view().bytes()) == 0;
}

}  // namespace

std::string_view name(Layout layout) {
    switch (layout) {
        case Layout::contiguous:
            return "contiguous";
        case Layout::transposed:
            return "transposed";
        case Layout::sliced:
            return "sliced";
        case Layout::expanded:
            return "stride0";
    }
    return "?";
}

Placed::Placed(const Shape& shape, DType dtype, Layout layout)
    : layout_(possible(layout, shape)),
      base_(Tensor::empty(base_shape(layout_, shape), dtype)),
      tensor_(look(layout_, base_, shape)) {
    std::memset(base_.bytes(), kPattern, base_.view().bytes());
}

Placed Placed::holding(const Tensor& values, Layout layout) {
    Placed placed(values.shape(), values.dtype(), layout);
    const bool repeats = placed.layout_ == Layout::expanded;
    Tensor target = repeats ? placed.base_ : placed.tensor_;
    const Tensor source = repeats ? values.narrow(0, 0, 1) : values;
    copy(target.view(), source.view());
    placed.remember();
    return placed;
}

Placed Placed::blank(const Shape& shape, DType dtype, Layout layout) {
    Placed placed(shape, dtype, layout == Layout::expanded ? Layout::sliced : layout);
    placed.remember();
    return placed;
}

bool Placed::unchanged() const {
    return same_bytes(base_, before_);
}

bool Placed::outside_unchanged() const {
    const Tensor now = base_.clone();
    Tensor inside = look(layout_, now, tensor_.shape());
    copy(inside.view(), look(layout_, before_, tensor_.shape()).view());
    return same_bytes(now, before_);
}

}  // namespace plumb::cli
