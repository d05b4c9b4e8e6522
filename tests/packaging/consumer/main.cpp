#include <plumb/context/comm_context.h>
#include <plumb/core/version.h>
#include <plumb/mpi/environment.h>
#include <plumb/tensor/dlpack.h>

#include <iostream>

int main(int argc, char** argv) {
    const plumb::mpi::Environment environment(argc, argv);
    const plumb::CommContext context("data=2");
    const auto& group = context.group(plumb::ParallelMode::data);
    if (group.rank().value == 1) {
        std::cout << "plumb " << plumb::build_info().version << " on " << group.size()
                  << " ranks: " << context.global_rank().value << std::endl;
    }
    return 0;
}
