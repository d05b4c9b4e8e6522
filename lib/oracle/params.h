#pragma once

#include <string>

#include <plumb/oracle/manifest.h>

#include "oracle/json.h"

namespace plumb::oracle {

/// Reads `params` of a case whose op, world and groups are known. Wrong JSON types throw FileError; a key the
/// op does not take, a word that is not allowed or a missing argument is put in `item.problem`.
void read_params(const JsonNode& node, Case& item);

/// Whether `op` is one that case sets may name.
[[nodiscard]] bool is_known_op(const std::string& op);
/// Whether `op` has a backward pass.
[[nodiscard]] bool is_differentiable(const std::string& op);

/// What is wrong with a case as a whole, before it is run: a required tensor that it does not list, one that
/// belongs to no rank of a group, lists of the wrong length. Empty if nothing is.
[[nodiscard]] std::string find_problem(const Case& item);

}  // namespace plumb::oracle
