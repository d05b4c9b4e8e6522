#include <plumb/mpi/handles.h>

#include <plumb/mpi/check.h>

namespace plumb::mpi {

Communicator::Communicator(MPI_Comm raw) : Owned(raw) {
    if (raw != MPI_COMM_NULL) {
        check(MPI_Comm_set_errhandler(raw, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", world_caller());
    }
}

Communicator Communicator::duplicate(MPI_Comm other) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(other, &copy), "MPI_Comm_dup", world_caller());
    return Communicator(copy);
}

int Communicator::rank() const {
    int rank = 0;
    check(MPI_Comm_rank(get(), &rank), "MPI_Comm_rank", world_caller());
    return rank;
}

int Communicator::size() const {
    int size = 0;
    check(MPI_Comm_size(get(), &size), "MPI_Comm_size", world_caller());
    return size;
}

}  // namespace plumb::mpi
