#include <plumb/mpi/requests.h>

namespace plumb::mpi {

// One by one, not by MPI_Testall: that says only "error code in status", and some MPI libraries raise it on
// the error handler of MPI_COMM_WORLD, which is the user's. A request that fails is MPI's no more.

bool RequestSet::test(const Caller& caller) {
    while (done_ < requests_.size()) {
        int complete = 0;
        const int code = MPI_Test(&requests_[done_], &complete, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && complete == 0) {
            return false;
        }
        ++done_;
        check(code, "MPI_Test", caller);
    }
    clear();
    return true;
}

void RequestSet::wait(const Caller& caller) {
    while (done_ < requests_.size()) {
        const int code = MPI_Wait(&requests_[done_], MPI_STATUS_IGNORE);
        ++done_;
        check(code, "MPI_Wait", caller);
    }
    clear();
}

void RequestSet::clear() noexcept {
    requests_.clear();
    done_ = 0;
}

}  // namespace plumb::mpi
