#pragma once

#include <string>

#include "cli/job.h"
#include "cli/options.h"

/// The commands. Each returns the program's exit code, the same on every rank. Those that take a Job are
/// collective over it. All throw CannotRun, on every rank alike, for what is exit code 2.
namespace plumb::cli {

[[nodiscard]] int info(Job& job, const InfoOptions& options);
[[nodiscard]] int replay(Job& job, const ReplayOptions& options);
[[nodiscard]] int verify(Job& job, const VerifyOptions& options);

/// The names of the cases, one a line. Local, without MPI.
[[nodiscard]] std::string list_replay(const ReplayOptions& options);
[[nodiscard]] std::string list_verify(const VerifyOptions& options, int ranks);

}  // namespace plumb::cli
