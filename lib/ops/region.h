#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <plumb/ops/grad_mode.h>
#include <plumb/ops/rank0_only.h>
#include <plumb/tensor/tensor.h>

#include "comm/tensor_operation.h"

namespace plumb::ops {

/// One call of a region op: what must be equal on all ranks, and its name. A backward has a grad mode.
struct RegionCall {
    std::string_view operation;
    Rank0Only rank0_only;
    int dim;
    std::optional<GradMode> grad_mode;

    [[nodiscard]] std::string_view input_name() const { return grad_mode ? "grad_output" : "input"; }
    [[nodiscard]] std::string_view output_name() const { return grad_mode ? "grad_input" : "output"; }
};

/// Gather's forward and scatter's backward: the tensors of all ranks, in a backward divided by the group's
/// size, joined along dim on every rank.
class JoinRegion final : public comm::TensorOperation {
  public:
    JoinRegion(const RegionCall& call, Tensor input) : call_(call), input_(std::move(input)) {}
    JoinRegion(const RegionCall& call, Tensor output, Tensor input)
        : TensorOperation(std::move(output)), call_(call), input_(std::move(input)) {}

    [[nodiscard]] std::string_view operation() const override { return call_.operation; }

  private:
    [[nodiscard]] std::string_view input_name() const override { return call_.input_name(); }
    [[nodiscard]] std::string_view output_name() const override { return call_.output_name(); }
    void prepare() override;
    void describe(mpi::Signature& signature) const override;
    Posted post(int step, mpi::RequestSet& requests) override;
    void complete() override;

    RegionCall call_;
    Tensor input_;
    int dim_ = 0;      // normalised
    Tensor part_;      // what this rank sends: contiguous, scaled
    Tensor received_;  // the output, or all parts one after the other
};

/// Scatter's forward and gather's backward: every rank's chunk along dim, in a backward multiplied by the
/// group's size, of the first rank's tensor or of its own.
class SplitRegion final : public comm::TensorOperation {
  public:
    SplitRegion(const RegionCall& call, Tensor input) : call_(call), input_(std::move(input)) {}
    SplitRegion(const RegionCall& call, Tensor output, Tensor input)
        : TensorOperation(std::move(output)), call_(call), input_(std::move(input)) {}

    [[nodiscard]] std::string_view operation() const override { return call_.operation; }

  private:
    [[nodiscard]] std::string_view input_name() const override { return call_.input_name(); }
    [[nodiscard]] std::string_view output_name() const override { return call_.output_name(); }
    [[nodiscard]] bool shares_header() const override { return from_first(); }
    [[nodiscard]] bool confirms() const override { return from_first(); }
    void prepare() override;
    void describe(mpi::Signature& signature) const override;
    [[nodiscard]] mpi::Header header() const override;
    void receive_header(const mpi::Header& header) override;
    Posted post(int step, mpi::RequestSet& requests) override;
    void complete() override;

    [[nodiscard]] bool from_first() const { return call_.rank0_only == Rank0Only::yes; }
    /// Whether this rank's tensor counts.
    [[nodiscard]] bool has_whole() const { return !from_first() || channel().rank() == 0; }
    void pack_parts();

    RegionCall call_;
    Tensor input_;
    int dim_ = 0;  // normalised, once the shape is known
    bool knows_shape_ = false;
    std::vector<Tensor> parts_;  // on the first rank: the chunks of the others, contiguous
    std::vector<const std::byte*> sends_;
    Tensor received_;  // the output, or what is copied into it
};

}  // namespace plumb::ops
