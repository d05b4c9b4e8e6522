#pragma once

namespace plumb::test {

/// Rank and number of ranks of this process in MPI_COMM_WORLD, known to every test run by mpi_main.cpp.
[[nodiscard]] int rank();
[[nodiscard]] int ranks();

}  // namespace plumb::test
