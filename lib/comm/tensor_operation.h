#pragma once

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
    /// `output` is undefined where the operation makes its own.
    explicit TensorOperation(Tensor output = {}) : output_(std::move(output)), given_(output_.defined()) {}

    /// Makes the output, or checks the one given: its dtype, its shape, that it overlaps neither itself nor
    /// `input`.
    void prepare_output(DType dtype, const Shape& shape, const Tensor& input);
    [[nodiscard]] Tensor& output() noexcept { return output_; }
    [[nodiscard]] const Tensor& output() const noexcept { return output_; }

  private:
    Tensor output_;
    bool given_;
};

}  // namespace plumb::comm
