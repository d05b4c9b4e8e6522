#pragma once

#include <functional>

#include <plumb/context/group.h>
#include <plumb/tensor/tensor.h>

namespace plumb::oracle {

/// One rank's part of a linear map between the tensors of all ranks of a group: from this rank's tensor to
/// what the operation gives it.
using LinearMap = std::function<Tensor(const Tensor&)>;

/// Both sides of <f(x), y> = <x, fᵀ(y)>, summed over all elements of all ranks of the group; complex elements
/// count as two numbers.
struct AdjointTest {
    double forward = 0;   ///< <f(x), y>
    double backward = 0;  ///< <x, fᵀ(y)>
    [[nodiscard]] bool ok() const noexcept { return forward == backward; }
};

/// Tests that `backward` is the adjoint of `forward`: `x` is this rank's input of forward, `y` has the shape
/// and dtype of its result. The equality is exact where all elements are small whole numbers, so that no
/// product and no sum is rounded. Collective over the group; host tensors, any strides; all dtypes but bool.
/// A rank outside the group gets zeros. Throws what the maps throw, and ArgumentError where a map's result
/// does not have the shape and dtype of what it is multiplied with.
[[nodiscard]] AdjointTest test_adjoint(const Group& group, const Tensor& x, const Tensor& y,
                                       const LinearMap& forward, const LinearMap& backward);

/// Sum of the products of corresponding elements. Local. Throws ArgumentError for different shapes or dtypes,
/// and for bool.
[[nodiscard]] double dot(const Tensor& a, const Tensor& b);

}  // namespace plumb::oracle
