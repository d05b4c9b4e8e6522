#include <plumb/comm/broadcast.h>

#include <memory>
#include <utility>

#include "comm/arguments.h"
#include "comm/landing.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

class Broadcast final : public comm::TensorOperation {
  public:
    Broadcast(Tensor tensor, Root src) : TensorOperation(std::move(tensor)), src_(src) {}

    [[nodiscard]] std::string_view operation() const override { return "broadcast"; }

  private:
    [[nodiscard]] bool is_src() const { return channel().rank() == root_; }

    void prepare() override {
        root_ = comm::resolve(src_, "src", channel());
        comm::require_defined(output(), "tensor");
        comm::require_output(output(), "tensor", output().dtype(), output().shape(), channel().check_level());
        travelling_ = is_src() ? output().contiguous() : comm::landing(output());
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "src", src_, channel());
        comm::describe(signature, "tensor", output());
    }

    Posted post(int, mpi::RequestSet& requests) override {
        comm::post_broadcast(channel(), travelling_.bytes(),
                             static_cast<std::int64_t>(output().view().bytes()), root_, requests);
        return Posted::all;
    }

    void complete() override {
        if (!is_src()) {
            comm::unload(output(), travelling_);
        }
    }

    Root src_;
    int root_ = 0;
    Tensor travelling_;  // the tensor, or its contiguous stand-in
};

}  // namespace

Async<Tensor> broadcast_async(const Tensor& tensor, Root src, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<Broadcast>(tensor, src));
}

Tensor broadcast(const Tensor& tensor, Root src, GroupRef group) {
    return broadcast_async(tensor, src, group).wait();
}

}  // namespace plumb
