#include <plumb/comm/reduce_scatter.h>

#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/rank_order.h"
#include "comm/reduce_op.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

Shape chunk_shape(const Shape& shape, int size) {
    if (shape.ndim() == 0) {
        throw ArgumentError("input has shape [], allowed are tensors of at least one dimension");
    }
    if (shape[0] % size != 0) {
        throw ArgumentError(fmt::format("input has shape {}, allowed along dim 0 are multiples of {}",
                                        to_string(shape), size));
    }
    return shape.with(0, shape[0] / size);
}

class ReduceScatter final : public comm::TensorOperation {
  public:
    ReduceScatter(Tensor input, ReduceOp op) : input_(std::move(input)), op_(op) {}
    ReduceScatter(Tensor output, Tensor input, ReduceOp op)
        : TensorOperation(std::move(output)), input_(std::move(input)), op_(op) {}

    [[nodiscard]] std::string_view operation() const override { return "reduce_scatter"; }

  private:
    void prepare() override {
        comm::require_defined(input_, "input");
        comm::require_defined_for(op_, input_.dtype());
        const Shape shape = chunk_shape(input_.shape(), channel().size());
        prepare_output(input_.dtype(), shape, input_);
        packed_ = input_.contiguous();
        reduced_ = output().is_contiguous() ? output() : Tensor::empty(shape, input_.dtype());
        received_ = Tensor::empty(input_.shape(), input_.dtype());
        chunk_bytes_ = static_cast<std::int64_t>(reduced_.view().bytes());
        offsets_.clear();
        inputs_.clear();
        for (int r = 0; r < channel().size(); ++r) {
            offsets_.push_back(r * chunk_bytes_);
            inputs_.push_back(received_.bytes() + offsets_.back());
        }
        const auto own = static_cast<std::size_t>(channel().rank());
        inputs_[own] = packed_.bytes() + offsets_[own];
        scratch_.resize(4 * offsets_.size());
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "input", input_);
        signature.field("reduce", name(op_));
    }

    Posted post(int, mpi::RequestSet& requests) override {
        comm::post_all_to_all(channel(), packed_.bytes(), offsets_, received_.bytes(), offsets_, chunk_bytes_,
                              scratch_, requests);
        return Posted::all;
    }

    void complete() override {
        comm::reduce_in_rank_order(reduced_.bytes(), inputs_, reduced_.element_count(), reduced_.dtype(),
                                   op_);
        if (!reduced_.shares_storage_with(output())) {
            copy(output().view(), reduced_.view());
        }
    }

    Tensor input_;
    ReduceOp op_;
    Tensor packed_;    // the input, contiguous
    Tensor received_;  // every rank's chunk for this one; the own place stays unused
    Tensor reduced_;   // the output, or what is copied into it
    std::int64_t chunk_bytes_ = 0;
    std::vector<std::int64_t> offsets_;
    std::vector<const std::byte*> inputs_;
    std::vector<int> scratch_;
};

}  // namespace

Async<Tensor> reduce_scatter_async(const Tensor& input, ReduceOp op, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<ReduceScatter>(input, op));
}
Async<Tensor> reduce_scatter_async(const Tensor& output, const Tensor& input, ReduceOp op, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<ReduceScatter>(output, input, op));
}

Tensor reduce_scatter(const Tensor& input, ReduceOp op, GroupRef group) {
    return reduce_scatter_async(input, op, group).wait();
}
Tensor reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op, GroupRef group) {
    return reduce_scatter_async(output, input, op, group).wait();
}

}  // namespace plumb
