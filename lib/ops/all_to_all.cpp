#include <plumb/ops/all_to_all.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <plumb/mpi/counts.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

/// A call of the op or of its backward. `take` is the dimension that is cut into chunks, `join` the one along
/// which the received chunks are joined; backward exchanges the roles of the caller's dims.
struct Call {
    enum class Direction { forward, backward };

    Direction direction;
    int gather_dim;
    int scatter_dim;

    [[nodiscard]] bool forward() const { return direction == Direction::forward; }
    [[nodiscard]] int take() const { return forward() ? scatter_dim : gather_dim; }
    [[nodiscard]] int join() const { return forward() ? gather_dim : scatter_dim; }
    [[nodiscard]] const char* take_name() const { return forward() ? "scatter_dim" : "gather_dim"; }

    bool operator==(const Call&) const = default;
};

/// Where the chunks lie in one side's memory: each is one contiguous run at an offset from the tensor's first
/// element, or else they go through a packed buffer, chunk r at r * bytes.
struct Side {
    bool direct = false;
    std::vector<std::int64_t> offsets;
    Storage packed;
};

class AllToAll final : public comm::TensorOperation {
  public:
    AllToAll(Call call, Tensor input) : call_(call), input_(std::move(input)) {}
    AllToAll(Call call, Tensor output, Tensor input)
        : TensorOperation(std::move(output)), call_(call), input_(std::move(input)) {}

    [[nodiscard]] std::string_view operation() const override {
        return call_.forward() ? "all_to_all" : "all_to_all_backward";
    }

    /// Whether the plan made for this operation's tensors serves another call.
    [[nodiscard]] bool serves(Call call, const Tensor& input, const Tensor& output) const {
        return planned_ && call == call_ && input.dtype() == planned_input_.dtype &&
               input.shape() == planned_input_.shape && input.strides() == planned_input_.strides &&
               output.shape() == planned_output_.shape && output.strides() == planned_output_.strides &&
               planned_limit_ == mpi::count_limit();
    }
    void rebind(const Tensor& input, const Tensor& output) {
        input_ = input;
        rebind_output(output);
    }
    /// Lets go of the caller's tensors and keeps the plan.
    void forget() {
        input_ = {};
        rebind_output({});
    }

  private:
    [[nodiscard]] std::string_view input_name() const override {
        return call_.forward() ? "input" : "grad_output";
    }
    [[nodiscard]] std::string_view output_name() const override {
        return call_.forward() ? "output" : "grad_input";
    }

    void prepare() override {
        check_arguments();
        const std::int64_t ranks = channel().size();
        chunk_shape_ = input_.shape().with(call_.take(), input_.extent(call_.take()) / ranks);
        const Shape shape = multiplied(chunk_shape_, call_.join(), ranks);
        prepare_output(input_.dtype(), shape, input_);
        if (!serves(call_, input_, output())) {
            plan();
        }
    }

    void check_arguments() const;
    void plan();
    void plan_side(Side& side, const ConstView& whole, int dim);

    void describe(mpi::Signature& signature) const override {
        signature.field("gather_dim", call_.gather_dim);
        signature.field("scatter_dim", call_.scatter_dim);
        comm::describe(signature, input_name(), input_);
    }

    Posted post(int, mpi::RequestSet& requests) override;
    void complete() override;

    template <class V>
    [[nodiscard]] V chunk(const V& whole, int dim, int rank) const {
        return narrow(whole, dim, rank * chunk_shape_[dim], chunk_shape_[dim]);
    }
    [[nodiscard]] std::int64_t chunk_bytes() const {
        return plumb::element_count(chunk_shape_) * static_cast<std::int64_t>(size_of(input_.dtype()));
    }
    [[nodiscard]] ConstView input_view() const { return input_.view(); }

    Call call_;
    Tensor input_;

    Shape chunk_shape_;
    Side send_;
    Side receive_;
    std::vector<int> scratch_;
    bool planned_ = false;
    ConstView planned_input_;  // for its shape, strides and dtype; the pointer is not used
    ConstView planned_output_;
    std::int64_t planned_limit_ = 0;
};

void AllToAll::check_arguments() const {
    comm::require_defined(input_, input_name());
    if (call_.gather_dim == call_.scatter_dim) {
        throw ArgumentError(
            fmt::format("gather_dim and scatter_dim are both {}, they must differ", call_.gather_dim));
    }
    const int ndim = input_.ndim();
    for (const auto& [name, dim] :
         {std::pair{"gather_dim", call_.gather_dim}, {"scatter_dim", call_.scatter_dim}}) {
        if (dim < 0 || dim >= ndim) {
            throw ArgumentError(fmt::format(
                "{} is {}, which is not a dimension of {} of shape {}: allowed is 0 … {}, negative "
                "dims are not accepted",
                name, dim, input_name(), to_string(input_.shape()), ndim - 1));
        }
    }
    const std::int64_t extent = input_.extent(call_.take());
    if (extent % channel().size() != 0) {
        throw ArgumentError(fmt::format("{} {} of {} has extent {}, which the group size {} does not divide",
                                        call_.take_name(), call_.take(), input_name(), extent,
                                        channel().size()));
    }
}

void AllToAll::plan() {
    planned_ = false;
    plan_side(send_, input_view(), call_.take());
    plan_side(receive_, output().view(), call_.join());
    scratch_.resize(4 * static_cast<std::size_t>(channel().size()));
    planned_input_ = input_view();
    planned_output_ = output().view();
    planned_limit_ = mpi::count_limit();
    planned_ = true;
}

void AllToAll::plan_side(Side& side, const ConstView& whole, int dim) {
    const int ranks = channel().size();
    side.offsets.assign(static_cast<std::size_t>(ranks), 0);
    side.direct = is_contiguous(chunk(whole, dim, 0));
    for (int r = 0; r < ranks; ++r) {
        const std::int64_t offset = chunk(whole, dim, r).data - whole.data;
        side.offsets[static_cast<std::size_t>(r)] = offset;
        // A displacement that MPI cannot take: packing brings the chunks together. The peers need not do the
        // same.
        side.direct = side.direct && mpi::fits_count(std::abs(offset));
    }
    if (side.direct) {
        side.packed = {};
        return;
    }
    const std::int64_t bytes = chunk_bytes();
    for (int r = 0; r < ranks; ++r) {
        side.offsets[static_cast<std::size_t>(r)] = r * bytes;
    }
    side.packed = Storage::allocate(static_cast<std::size_t>(bytes * ranks));
}

mpi::Operation::Posted AllToAll::post(int, mpi::RequestSet& requests) {
    const int own = channel().rank();
    const int ranks = channel().size();
    if (ranks > 1) {
        if (!send_.direct) {
            for (int r = 0; r < ranks; ++r) {
                if (r != own) {
                    pack(send_.packed.data() + send_.offsets[static_cast<std::size_t>(r)],
                         chunk(input_view(), call_.take(), r));
                }
            }
        }
        comm::post_all_to_all(channel(), send_.direct ? input_view().data : send_.packed.data(),
                              send_.offsets, receive_.direct ? output().bytes() : receive_.packed.data(),
                              receive_.offsets, chunk_bytes(), scratch_, requests);
    }
    copy(chunk(output().view(), call_.join(), own), chunk(input_view(), call_.take(), own));
    return Posted::all;
}

void AllToAll::complete() {
    for (int r = 0; r < channel().size() && !receive_.direct; ++r) {
        if (r != channel().rank()) {
            unpack(chunk(output().view(), call_.join(), r),
                   receive_.packed.data() + receive_.offsets[static_cast<std::size_t>(r)]);
        }
    }
}

/// The operations of a group that can be used again with their plans and buffers. One that is in flight, or
/// that a handle still refers to, has other owners than this list.
class Plans {
  public:
    static Plans& of(mpi::Channel& channel) {
        static const char tag = 0;
        auto& slot = channel.slot(&tag);
        if (slot == nullptr) {
            slot = std::make_shared<Plans>();
        }
        return *std::static_pointer_cast<Plans>(slot);
    }

    std::shared_ptr<AllToAll> take(Call call, const Tensor& input, const Tensor& output) {
        for (const auto& plan : plans_) {
            if (plan.use_count() == 1 && plan->serves(call, input, output)) {
                plan->rebind(input, output);
                return plan;
            }
        }
        auto fresh = std::make_shared<AllToAll>(call, output, input);
        if (plans_.size() < kMostPlans) {
            plans_.push_back(fresh);
        } else {
            plans_[next_] = fresh;
            next_ = (next_ + 1) % kMostPlans;
        }
        return fresh;
    }

  private:
    static constexpr std::size_t kMostPlans = 16;
    std::vector<std::shared_ptr<AllToAll>> plans_;
    std::size_t next_ = 0;  // whose turn it is to make room
};

Tensor run_with_plan(Call call, const Tensor& output, const Tensor& input, const Group& group) {
    if (!group.is_member()) {
        return {};
    }
    const auto operation = Plans::of(*group.channel()).take(call, input, output);
    // Whatever happens, the plan must not keep the caller's tensors alive; but what is still in flight after
    // a time-out needs them.
    bool in_flight = false;
    struct Forget {  // NOLINT(cppcoreguidelines-special-member-functions): lives in this scope only
        AllToAll& operation;
        const bool& in_flight;
        ~Forget() {
            if (!in_flight || operation.finished()) {
                operation.forget();
            }
        }
    } forget{*operation, in_flight};
    auto handle = comm::launch<Tensor>(group, operation);
    in_flight = true;
    static_cast<void>(handle.wait());
    return output;
}

Async<Tensor> start(Call call, const Tensor& input, const Group& group) {
    return comm::launch<Tensor>(group, std::make_shared<AllToAll>(call, input));
}

Async<Tensor> start(Call call, const Tensor& output, const Tensor& input, const Group& group) {
    return comm::launch<Tensor>(group, std::make_shared<AllToAll>(call, output, input));
}

constexpr auto kForward = Call::Direction::forward;
constexpr auto kBackward = Call::Direction::backward;

}  // namespace

Tensor all_to_all(const Tensor& input, int gather_dim, int scatter_dim, GroupRef group) {
    return start({kForward, gather_dim, scatter_dim}, input, *group).wait();
}
Async<Tensor> all_to_all_async(const Tensor& input, int gather_dim, int scatter_dim, GroupRef group) {
    return start({kForward, gather_dim, scatter_dim}, input, *group);
}
Tensor all_to_all(const Tensor& output, const Tensor& input, int gather_dim, int scatter_dim,
                  GroupRef group) {
    return run_with_plan({kForward, gather_dim, scatter_dim}, output, input, *group);
}
Async<Tensor> all_to_all_async(const Tensor& output, const Tensor& input, int gather_dim, int scatter_dim,
                               GroupRef group) {
    return start({kForward, gather_dim, scatter_dim}, output, input, *group);
}

Tensor all_to_all_backward(const Tensor& grad_output, int gather_dim, int scatter_dim, GroupRef group) {
    return start({kBackward, gather_dim, scatter_dim}, grad_output, *group).wait();
}
Async<Tensor> all_to_all_backward_async(const Tensor& grad_output, int gather_dim, int scatter_dim,
                                        GroupRef group) {
    return start({kBackward, gather_dim, scatter_dim}, grad_output, *group);
}
Tensor all_to_all_backward(const Tensor& grad_input, const Tensor& grad_output, int gather_dim,
                           int scatter_dim, GroupRef group) {
    return run_with_plan({kBackward, gather_dim, scatter_dim}, grad_input, grad_output, *group);
}
Async<Tensor> all_to_all_backward_async(const Tensor& grad_input, const Tensor& grad_output, int gather_dim,
                                        int scatter_dim, GroupRef group) {
    return start({kBackward, gather_dim, scatter_dim}, grad_input, grad_output, *group);
}

}  // namespace plumb
