#pragma once

#include <cstdint>
#include <vector>

#include "cli/case_run.h"
#include "cli/verify_family.h"

namespace plumb::cli {

/// The operations that case sets have no words for: messages between pairs, and lists of objects. Their
/// results are inputs of other ranks, unchanged, so nothing but the drawing is needed to know them.
struct MessageDriver {
    Driver driver;
    MessageCheck check;
};
[[nodiscard]] const std::vector<MessageDriver>& message_drivers();
[[nodiscard]] std::vector<Variant> message_variants(const VerifySpec& spec);

}  // namespace plumb::cli
