#include "comm/tensor_operation.h"

#include "comm/arguments.h"

namespace plumb::comm {

void TensorOperation::prepare_output(DType dtype, const Shape& shape, const Tensor& input) {
    if (!given_) {
        output_ = Tensor::empty(shape, dtype);
        return;
    }
    const auto level = channel().check_level();
    require_output(output_, output_name(), dtype, shape, level);
    if (input.defined()) {
        require_no_overlap(output_, output_name(), input, input_name(), level);
    }
}

}  // namespace plumb::comm
