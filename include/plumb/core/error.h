#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/core/rank.h>

namespace plumb {

/// Base of everything Plumb throws on purpose (std::bad_alloc aside).
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An argument is wrong. The message names the argument, what was given and what is allowed.
class ArgumentError : public Error {
  public:
    using Error::Error;
};

/// A collective call is wrong on at least one rank of its group. Raised with the same message on every rank
/// of the group, before any payload moved; the group stays usable.
class AgreementError : public ArgumentError {
  public:
    AgreementError(const std::string& message, std::vector<GlobalRank> ranks)
        : ArgumentError(message), ranks_(std::move(ranks)) {}

    /// The ranks whose call was wrong by itself; where each call alone was fine but they differ, the ranks
    /// that differ from the majority (all of them where there is none).
    [[nodiscard]] const std::vector<GlobalRank>& ranks() const noexcept { return ranks_; }

  private:
    std::vector<GlobalRank> ranks_;
};

/// An MPI call returned an error code.
class MpiError : public Error {
  public:
    MpiError(const std::string& message, std::string call, int code)
        : Error(message), call_(std::move(call)), code_(code) {}

    [[nodiscard]] const std::string& call() const noexcept { return call_; }
    [[nodiscard]] int code() const noexcept { return code_; }

  private:
    std::string call_;
    int code_;
};

/// A wait ran out of time. Whatever was waited for stays valid and can be waited for again.
class TimeoutError : public Error {
  public:
    using Error::Error;
};

/// A file is missing, unreadable or not what its format demands. The message names the file and the place in
/// it.
class FileError : public Error {
  public:
    using Error::Error;
};

/// The environment cannot do what was asked (an environment variable with a value that is not allowed, MPI
/// initialised with too low a thread level, …).
class EnvironmentError : public Error {
  public:
    using Error::Error;
};

/// What a failure says for itself, in words for a message: "out of memory", or its own text.
[[nodiscard]] std::string describe_failure(const std::exception_ptr& failure);

}  // namespace plumb
