#include <plumb/mpi/requests.h>

namespace plumb::mpi {

bool RequestSet::test(const Caller& caller) {
    if (requests_.empty()) {
        return true;
    }
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
          "MPI_Testall", caller);
    if (done != 0) {
        requests_.clear();
    }
    return done != 0;
}

void RequestSet::wait(const Caller& caller) {
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall", caller);
    requests_.clear();
}

}  // namespace plumb::mpi
