#pragma once

#include <plumb/tensor/block.h>
#include <plumb/tensor/tensor.h>

namespace plumb::comm {

/// Contiguous memory for what is to arrive in `output`: the output itself, or a fresh stand-in.
[[nodiscard]] inline Tensor landing(const Tensor& output) {
    return output.is_contiguous() ? output : Tensor::empty(output.shape(), output.dtype());
}

/// Moves what arrived in `landed` to the output, where that is another tensor.
inline void unload(Tensor& output, const Tensor& landed) {
    if (!landed.shares_storage_with(output)) {
        copy(output.view(), landed.view());
    }
}

}  // namespace plumb::comm
