#include <plumb/comm/reduce.h>

#include <memory>
#include <utility>

#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/launch.h"
#include "comm/ordered_reduction.h"
#include "comm/reduce_op.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

class Reduce final : public comm::TensorOperation {
  public:
    Reduce(Tensor tensor, Root dst, ReduceOp op) : TensorOperation(std::move(tensor)), dst_(dst), op_(op) {}

    [[nodiscard]] std::string_view operation() const override { return "reduce"; }

  private:
    void prepare() override {
        const Tensor& tensor = output();
        comm::require_defined(tensor, "tensor");
        comm::require_defined_for(op_, tensor.dtype());
        const int root = comm::resolve(dst_, "dst", channel());
        is_root_ = channel().rank() == root;
        if (is_root_) {
            comm::require_output(tensor, "tensor", tensor.dtype(), tensor.shape(), channel().check_level());
        }
        packed_ = tensor.contiguous();
        std::byte* const data = packed_.bytes();
        reduction_.prepare(channel(),
                           {data, is_root_ ? data : nullptr, packed_.element_count(), packed_.dtype()}, op_,
                           root);
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "tensor", output());
        comm::describe(signature, "dst", dst_, channel());
        signature.field("reduce", name(op_));
    }

    Posted post(int step, mpi::RequestSet& requests) override {
        return reduction_.post(channel(), step, requests) ? Posted::more_to_come : Posted::all;
    }

    void complete() override {
        reduction_.complete();
        if (is_root_ && !packed_.shares_storage_with(output())) {
            copy(output().view(), packed_.view());
        }
    }

    Root dst_;
    ReduceOp op_;
    bool is_root_ = false;
    Tensor packed_;  // the tensor, or a contiguous copy, on the root reduced in place
    comm::OrderedReduction reduction_;
};

}  // namespace

Async<Tensor> reduce_async(const Tensor& tensor, Root dst, ReduceOp op, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<Reduce>(tensor, dst, op));
}

Tensor reduce(const Tensor& tensor, Root dst, ReduceOp op, GroupRef group) {
    return reduce_async(tensor, dst, op, group).wait();
}

}  // namespace plumb
