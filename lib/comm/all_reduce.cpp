#include <plumb/comm/all_reduce.h>

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

class AllReduce final : public comm::TensorOperation {
  public:
    AllReduce(Tensor tensor, ReduceOp op) : TensorOperation(std::move(tensor)), op_(op) {}

    [[nodiscard]] std::string_view operation() const override { return "all_reduce"; }

  private:
    void prepare() override {
        const Tensor& tensor = output();
        comm::require_output(tensor, "tensor", tensor.dtype(), tensor.shape(), channel().check_level());
        comm::require_defined_for(op_, tensor.dtype());
        packed_ = tensor.contiguous();
        std::byte* const data = packed_.bytes();
        reduction_.prepare(channel(), {data, data, packed_.element_count(), packed_.dtype()}, op_, {});
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "tensor", output());
        signature.field("reduce", name(op_));
    }

    Posted post(int step, mpi::RequestSet& requests) override {
        return reduction_.post(channel(), step, requests) ? Posted::more_to_come : Posted::all;
    }

    void complete() override {
        reduction_.complete();
        if (!packed_.shares_storage_with(output())) {
            copy(output().view(), packed_.view());
        }
    }

    ReduceOp op_;
    Tensor packed_;  // the tensor, or a contiguous copy, reduced in place
    comm::OrderedReduction reduction_;
};

}  // namespace

Async<Tensor> all_reduce_async(const Tensor& tensor, ReduceOp op, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<AllReduce>(tensor, op));
}

Tensor all_reduce(const Tensor& tensor, ReduceOp op, GroupRef group) {
    return all_reduce_async(tensor, op, group).wait();
}

}  // namespace plumb
