#include <plumb/ops/halo_exchange.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/launch.h"
#include "comm/tensor_operation.h"
#include "ops/shift.h"

namespace plumb {

namespace {

using ops::Direction;
using ops::Shift;

/// The arguments that must be equal on all ranks.
struct Widths {
    std::int64_t left;
    std::int64_t right;
    int dim;
    HaloImpl impl;

    [[nodiscard]] std::int64_t sum() const { return left + right; }
};

void require_not_negative(std::int64_t width, std::string_view argument) {
    if (width < 0) {
        throw ArgumentError(fmt::format("{} is {}, allowed are 0 and more", argument, width));
    }
}

/// `extent` slices of which both halos take theirs.
void require_extent(std::int64_t extent, std::int64_t width, std::string_view width_name, int dim) {
    if (extent < width) {
        throw ArgumentError(
            fmt::format("{} is {}, but the extent along dim {} is {}, allowed are widths up to the extent",
                        width_name, width, dim, extent));
    }
}

/// What forward and backward have in common: the checks of a call, and its shifts.
class HaloOperation : public comm::TensorOperation {
  public:
    HaloOperation(Widths widths, Tensor input) : widths_(widths), input_(std::move(input)) {}
    HaloOperation(Widths widths, Tensor output, Tensor input)
        : TensorOperation(std::move(output)), widths_(widths), input_(std::move(input)) {}

  protected:
    void describe(mpi::Signature& signature) const final;
    Posted post(int step, mpi::RequestSet& requests) final;

    /// Checks input and widths, normalises dim.
    void check_arguments();
    /// Checks that a shard of `extent` slices has as many as either halo takes.
    void require_wide_enough(std::int64_t extent) const;
    /// The part of the rank's own data that stays here, from where to where.
    [[nodiscard]] virtual std::pair<Tensor, Tensor> own_part() const = 0;
    void shift(Direction direction, const Tensor& sent, Tensor target);
    [[nodiscard]] Tensor slices(const Tensor& tensor, std::int64_t start, std::int64_t length) const {
        return tensor.narrow(widths_.dim, start, length);
    }

    [[nodiscard]] const Widths& widths() const { return widths_; }
    [[nodiscard]] const Tensor& input() const { return input_; }
    [[nodiscard]] std::int64_t input_extent() const { return input_.extent(widths_.dim); }
    [[nodiscard]] std::vector<Shift>& shifts() { return shifts_; }

  private:
    Widths widths_;
    Tensor input_;
    std::vector<Shift> shifts_;
};

void HaloOperation::check_arguments() {
    comm::require_defined(input_, input_name());
    require_not_negative(widths_.left, "left");
    require_not_negative(widths_.right, "right");
    widths_.dim = normalise_dim(widths_.dim, input_.ndim());
}

void HaloOperation::require_wide_enough(std::int64_t extent) const {
    require_extent(extent, widths_.left, "left", widths_.dim);
    require_extent(extent, widths_.right, "right", widths_.dim);
}

void HaloOperation::describe(mpi::Signature& signature) const {
    signature.field("left", widths_.left);
    signature.field("right", widths_.right);
    signature.field("dim", widths_.dim);
    signature.field("impl", name(widths_.impl));
    // Extents along dim may differ: each rank's own is no one else's business.
    signature.field("dtype", name(input_.dtype()));
    Shape others;
    for (int d = 0; d < input_.ndim(); ++d) {
        if (d != widths_.dim) {
            others.push_back(input_.extent(d));
        }
    }
    signature.field("extents but that of dim", std::span(others.begin(), others.end()));
}

void HaloOperation::shift(Direction direction, const Tensor& sent, Tensor target) {
    shifts_.emplace_back(channel(), direction, widths_.impl, sent, std::move(target));
}

mpi::Operation::Posted HaloOperation::post(int, mpi::RequestSet& requests) {
    for (Shift& each : shifts_) {
        each.post(channel(), requests);
    }
    const auto [from, to] = own_part();
    Tensor place = to;
    copy(place.view(), from.view());
    return Posted::all;
}

class HaloForward final : public HaloOperation {
  public:
    using HaloOperation::HaloOperation;
    [[nodiscard]] std::string_view operation() const override { return "cp_halo_exchange"; }

  private:
    [[nodiscard]] std::string_view input_name() const override { return "x"; }

    void prepare() override {
        check_arguments();
        const auto [left, right, dim, impl] = widths();
        const std::int64_t extent = input_extent();
        require_wide_enough(extent);
        require_sum(left, extent, right);
        prepare_output(input().dtype(), input().shape().with(dim, left + extent + right), input());
        if (left > 0) {
            shift(Direction::to_next, slices(input(), extent - left, left), slices(output(), 0, left));
        }
        if (right > 0) {
            shift(Direction::to_previous, slices(input(), 0, right), slices(output(), left + extent, right));
        }
    }

    /// A shard without elements can be as long as that.
    static void require_sum(std::int64_t left, std::int64_t extent, std::int64_t right) {
        if (left > std::numeric_limits<std::int64_t>::max() - extent - right) {
            throw ArgumentError(fmt::format(
                "left {}, the extent {} and right {} are given, allowed is a sum of at most 2^63-1", left,
                extent, right));
        }
    }

    [[nodiscard]] std::pair<Tensor, Tensor> own_part() const override {
        return {input(), slices(output(), widths().left, input_extent())};
    }

    void complete() override {
        for (Shift& each : shifts()) {
            each.complete();
        }
    }
};

class HaloBackward final : public HaloOperation {
  public:
    using HaloOperation::HaloOperation;
    [[nodiscard]] std::string_view operation() const override { return "cp_halo_exchange_backward"; }

  private:
    [[nodiscard]] std::string_view input_name() const override { return "grad_output"; }
    [[nodiscard]] std::string_view output_name() const override { return "grad_input"; }

    void prepare() override {
        check_arguments();
        if (input().dtype() == DType::boolean) {
            throw ArgumentError("grad_output has dtype bool, allowed is every other dtype");
        }
        require_wide_enough(input_extent());  // so that no difference below can overflow
        const auto [left, right, dim, impl] = widths();
        const std::int64_t extent = input_extent() - left - right;
        require_room(extent);
        prepare_output(input().dtype(), input().shape().with(dim, extent), input());
        if (left > 0) {
            shift(Direction::to_previous, slices(input(), 0, left), scratch(left));
        }
        if (right > 0) {
            shift(Direction::to_next, slices(input(), left + extent, right), scratch(right));
        }
    }

    /// For what a neighbour contributes.
    [[nodiscard]] Tensor scratch(std::int64_t width) const {
        return Tensor::empty(input().shape().with(widths().dim, width), input().dtype());
    }

    void require_room(std::int64_t extent) const {
        if (extent < std::max(widths().left, widths().right)) {
            throw ArgumentError(
                fmt::format("grad_output has extent {} along dim {}, which leaves {} without the halos left "
                            "{} and right {}, allowed is what leaves as many as either halo takes",
                            input_extent(), widths().dim, extent, widths().left, widths().right));
        }
    }

    [[nodiscard]] std::pair<Tensor, Tensor> own_part() const override {
        return {slices(input(), widths().left, input_extent() - widths().sum()), output()};
    }

    /// The order of the additions is part of the op's meaning.
    void complete() override {
        const std::int64_t extent = input_extent() - widths().sum();
        std::size_t next = 0;
        if (widths().left > 0) {
            add_arrived(shifts()[next++], extent - widths().left);
        }
        if (widths().right > 0) {
            add_arrived(shifts()[next], 0);
        }
    }

    void add_arrived(Shift& arrived, std::int64_t start) {
        arrived.complete();
        Tensor place = slices(output(), start, arrived.target().extent(widths().dim));
        add(place.view(), arrived.target().view());
    }
};

}  // namespace

Async<Tensor> cp_halo_exchange_async(const Tensor& x, std::int64_t left, std::int64_t right, int dim,
                                     GroupRef group, HaloImpl impl) {
    return comm::launch<Tensor>(*group, std::make_shared<HaloForward>(Widths{left, right, dim, impl}, x));
}
Async<Tensor> cp_halo_exchange_async(const Tensor& output, const Tensor& x, std::int64_t left,
                                     std::int64_t right, int dim, GroupRef group, HaloImpl impl) {
    return comm::launch<Tensor>(*group,
                                std::make_shared<HaloForward>(Widths{left, right, dim, impl}, output, x));
}
Tensor cp_halo_exchange(const Tensor& x, std::int64_t left, std::int64_t right, int dim, GroupRef group,
                        HaloImpl impl) {
    return cp_halo_exchange_async(x, left, right, dim, group, impl).wait();
}
Tensor cp_halo_exchange(const Tensor& output, const Tensor& x, std::int64_t left, std::int64_t right, int dim,
                        GroupRef group, HaloImpl impl) {
    return cp_halo_exchange_async(output, x, left, right, dim, group, impl).wait();
}

Async<Tensor> cp_halo_exchange_backward_async(const Tensor& grad_output, std::int64_t left,
                                              std::int64_t right, int dim, GroupRef group, HaloImpl impl) {
    return comm::launch<Tensor>(*group,
                                std::make_shared<HaloBackward>(Widths{left, right, dim, impl}, grad_output));
}
Async<Tensor> cp_halo_exchange_backward_async(const Tensor& grad_input, const Tensor& grad_output,
                                              std::int64_t left, std::int64_t right, int dim, GroupRef group,
                                              HaloImpl impl) {
    return comm::launch<Tensor>(
        *group, std::make_shared<HaloBackward>(Widths{left, right, dim, impl}, grad_input, grad_output));
}
Tensor cp_halo_exchange_backward(const Tensor& grad_output, std::int64_t left, std::int64_t right, int dim,
                                 GroupRef group, HaloImpl impl) {
    return cp_halo_exchange_backward_async(grad_output, left, right, dim, group, impl).wait();
}
Tensor cp_halo_exchange_backward(const Tensor& grad_input, const Tensor& grad_output, std::int64_t left,
                                 std::int64_t right, int dim, GroupRef group, HaloImpl impl) {
    return cp_halo_exchange_backward_async(grad_input, grad_output, left, right, dim, group, impl).wait();
}

}  // namespace plumb
