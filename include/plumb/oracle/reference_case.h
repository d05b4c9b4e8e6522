#pragma once

#include <functional>
#include <map>
#include <string>

#include <plumb/oracle/manifest.h>
#include <plumb/tensor/tensor.h>

namespace plumb::oracle::reference {

/// Gives an input of a case (roles `in` and `gradout`); called only for tensors that the case lists.
using TensorSource = std::function<Tensor(GlobalRank, Role, int k)>;

/// Runs one case of a case set on the serial reference, all groups, forward, and backward where the case
/// lists gradients to start from. Returns the `out` and `gradin` tensors by tensor_key. Local. Throws
/// ArgumentError if the operation refuses the call, the case has a `problem`, or it asks for what the
/// reference does not compute yet.
[[nodiscard]] std::map<std::string, Tensor> run_case(const Case& item, const TensorSource& source);

}  // namespace plumb::oracle::reference
