#pragma once

#include <stdexcept>

namespace plumb::cli {

/// Exit codes of the program.
inline constexpr int kAllGood = 0;
inline constexpr int kSomethingFailed = 1;
inline constexpr int kCannotRun = 2;

/// The command cannot run: wrong usage, unreadable input, or an environment that cannot do it. Exit code 2.
/// Under MPI it is thrown on every rank, with the same message.
class CannotRun : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace plumb::cli
