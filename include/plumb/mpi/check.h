#pragma once

#include <string>
#include <string_view>

#include <mpi.h>

#include <plumb/core/rank.h>

namespace plumb::mpi {

/// Who is calling, for messages.
struct Caller {
    std::string_view group = "world";
    GlobalRank rank{0};
};

/// Every MPI call's return code goes through here, in every build type. Throws MpiError carrying MPI's own
/// error text, the call, the group and the rank.
inline void check(int code, const char* call, const Caller& caller);

/// The text of an MPI error code.
[[nodiscard]] std::string error_text(int code);

[[noreturn]] void throw_mpi_error(int code, const char* call, const Caller& caller);

inline void check(int code, const char* call, const Caller& caller) {
    if (code != MPI_SUCCESS) {
        throw_mpi_error(code, call, caller);
    }
}

/// The caller as a rank of MPI_COMM_WORLD, for calls that belong to no group.
[[nodiscard]] Caller world_caller() noexcept;

}  // namespace plumb::mpi
