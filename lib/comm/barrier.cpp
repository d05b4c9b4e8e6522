#include <plumb/comm/barrier.h>

#include <memory>

#include <plumb/mpi/operation.h>

#include "comm/launch.h"

namespace plumb {

namespace {

class Barrier final : public mpi::Operation, public Outcome<Completion> {
  public:
    [[nodiscard]] std::string_view operation() const override { return "barrier"; }
    [[nodiscard]] Completion result() const override { return Completion::done; }

  private:
    void prepare() override {}
    void describe(mpi::Signature&) const override {}

    Posted post(int, mpi::RequestSet& requests) override {
        mpi::check(MPI_Ibarrier(channel().data(), requests.next()), "MPI_Ibarrier", channel().caller());
        return Posted::all;
    }
};

}  // namespace

Async<Completion> barrier_async(GroupRef group) {
    return comm::launch<Completion>(*group, std::make_shared<Barrier>());
}

Completion barrier(GroupRef group) {
    return barrier_async(group).wait();
}

}  // namespace plumb
