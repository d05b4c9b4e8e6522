#pragma once

#include <plumb/comm/reduce_op.h>

namespace plumb::comm {

/// Throws ArgumentError naming the operator, the dtype and the operators that are allowed.
void require_defined_for(ReduceOp op, DType dtype);

}  // namespace plumb::comm
