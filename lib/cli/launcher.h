#pragma once

namespace plumb::cli {

/// What the launcher (mpirun, srun, …) tells a process before MPI runs: its rank and the number of ranks.
/// Without a launcher, or with one that says nothing: rank 0 of 1. Local.
struct Launch {
    int rank = 0;
    int size = 1;
};
[[nodiscard]] Launch launch_from_environment();

}  // namespace plumb::cli
