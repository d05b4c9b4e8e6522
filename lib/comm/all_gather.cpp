#include <plumb/comm/all_gather.h>

#include <memory>

#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

enum class Form { joined, stacked };

Shape gathered_shape(const Shape& shape, Form form, int size) {
    if (form == Form::joined && shape.ndim() > 0) {
        return multiplied(shape, 0, size);
    }
    Shape result{size};
    for (const auto extent : shape) {
        result.push_back(extent);
    }
    return result;
}

class AllGather final : public comm::TensorOperation {
  public:
    AllGather(Form form, Tensor input) : form_(form), input_(std::move(input)) {}
    AllGather(Form form, Tensor output, Tensor input)
        : TensorOperation(std::move(output)), form_(form), input_(std::move(input)) {}

    [[nodiscard]] std::string_view operation() const override {
        return form_ == Form::joined ? "all_gather" : "all_gather_stacked";
    }

  private:
    void prepare() override {
        comm::require_defined(input_, "input");
        const Shape shape = gathered_shape(input_.shape(), form_, channel().size());
        prepare_output(input_.dtype(), shape, input_);
        packed_ = input_.contiguous();
        received_ = output().is_contiguous() ? output() : Tensor::empty(shape, input_.dtype());
    }

    void describe(mpi::Signature& signature) const override { comm::describe(signature, "input", input_); }

    Posted post(int, mpi::RequestSet& requests) override {
        comm::post_all_gather(channel(), packed_.bytes(), received_.bytes(),
                              static_cast<std::int64_t>(packed_.view().bytes()), requests);
        return Posted::all;
    }

    void complete() override {
        if (!received_.shares_storage_with(output())) {
            copy(output().view(), received_.view());
        }
    }

    Form form_;
    Tensor input_;
    Tensor packed_;    // the input, contiguous
    Tensor received_;  // the output, or what is unpacked into it
};

}  // namespace

Async<Tensor> all_gather_async(const Tensor& input, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<AllGather>(Form::joined, input));
}
Async<Tensor> all_gather_stacked_async(const Tensor& input, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<AllGather>(Form::stacked, input));
}
Async<Tensor> all_gather_async(const Tensor& output, const Tensor& input, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<AllGather>(Form::joined, output, input));
}
Async<Tensor> all_gather_stacked_async(const Tensor& output, const Tensor& input, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<AllGather>(Form::stacked, output, input));
}

Tensor all_gather(const Tensor& input, GroupRef group) {
    return all_gather_async(input, group).wait();
}
Tensor all_gather_stacked(const Tensor& input, GroupRef group) {
    return all_gather_stacked_async(input, group).wait();
}
Tensor all_gather(const Tensor& output, const Tensor& input, GroupRef group) {
    return all_gather_async(output, input, group).wait();
}
Tensor all_gather_stacked(const Tensor& output, const Tensor& input, GroupRef group) {
    return all_gather_stacked_async(output, input, group).wait();
}

}  // namespace plumb
