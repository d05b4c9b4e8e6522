#pragma once

#include <string_view>
#include <utility>

#include <plumb/comm/async.h>
#include <plumb/mpi/operation.h>
#include <plumb/tensor/tensor.h>

namespace plumb::comm {

/// A collective whose result is one tensor: made by prepare(), or given by the caller.
class TensorOperation : public mpi::Operation, public Outcome<Tensor> {
  public:
    [[nodiscard]] Tensor result() const final { return output_; }

  protected:
    /// Makes its own output.
    TensorOperation() = default;
    /// Writes the caller's.
    explicit TensorOperation(Tensor output) : output_(std::move(output)), given_(true) {}

    /// Makes the output, or checks the one given: its dtype, its shape, that it overlaps neither itself nor
    /// `input`.
    void prepare_output(DType dtype, const Shape& shape, const Tensor& input);
    /// For an operation that is used again: another output of the caller's.
    void rebind_output(Tensor output) { output_ = std::move(output); }
    /// What the caller calls them, for messages: backward forms have grad_input and grad_output.
    [[nodiscard]] virtual std::string_view output_name() const { return "output"; }
    [[nodiscard]] virtual std::string_view input_name() const { return "input"; }
    [[nodiscard]] Tensor& output() noexcept { return output_; }
    [[nodiscard]] const Tensor& output() const noexcept { return output_; }

  private:
    Tensor output_;
    bool given_ = false;
};

}  // namespace plumb::comm
