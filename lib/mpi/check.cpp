#include <plumb/mpi/check.h>

#include <array>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::mpi {

std::string error_text(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
        return fmt::format("MPI error code {}", code);
    }
    return {text.data(), static_cast<std::size_t>(length)};
}

void throw_mpi_error(int code, const char* call, const Caller& caller) {
    throw MpiError(fmt::format("{} failed on rank {} in group '{}': {}", call, caller.rank.value,
                               caller.group, error_text(code)),
                   call, code);
}

Caller world_caller() noexcept {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return {"world", GlobalRank{rank}};
}

}  // namespace plumb::mpi
