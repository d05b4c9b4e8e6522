#include <plumb/comm/gather.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plumb/mpi/operation.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/landing.h"
#include "comm/launch.h"
#include "comm/movement.h"

namespace plumb {

namespace {

enum class Outputs { given, fresh };

class Gather final : public mpi::Operation, public Outcome<std::vector<Tensor>> {
  public:
    Gather(Outputs outputs, Tensor tensor, const std::optional<std::vector<Tensor>>& list, Root dst)
        : outputs_(outputs),
          tensor_(std::move(tensor)),
          list_(list.value_or(std::vector<Tensor>{})),
          dst_(dst) {}

    [[nodiscard]] std::string_view operation() const override { return "gather"; }
    [[nodiscard]] std::vector<Tensor> result() const override { return list_; }

  private:
    [[nodiscard]] bool is_dst() const { return channel().rank() == root_; }

    void prepare() override {
        root_ = comm::resolve(dst_, "dst", channel());
        comm::require_defined(tensor_, "tensor");
        if (is_dst() && outputs_ == Outputs::fresh) {
            for (int r = 0; r < channel().size(); ++r) {
                list_.push_back(Tensor::empty(tensor_.shape(), tensor_.dtype()));
            }
        }
        comm::require_list(list_, "gather_list", "dst", root_, channel());
        if (is_dst()) {
            prepare_receives();
        } else {
            packed_ = tensor_.contiguous();
        }
    }

    void prepare_receives() {
        received_.assign(list_.size(), {});
        receives_.assign(list_.size(), nullptr);
        const auto level = channel().check_level();
        for (std::size_t r = 0; r < list_.size(); ++r) {
            const std::string name = fmt::format("gather_list[{}]", r);
            comm::require_output(list_[r], name, tensor_.dtype(), tensor_.shape(), level);
            comm::require_no_overlap(list_[r], name, tensor_, "tensor", level);
            for (std::size_t k = 0; k < r; ++k) {
                comm::require_no_overlap(list_[r], name, list_[k], fmt::format("gather_list[{}]", k), level);
            }
            if (static_cast<int>(r) != root_) {
                received_[r] = comm::landing(list_[r]);
                receives_[r] = received_[r].bytes();
            }
        }
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "dst", dst_, channel());
        comm::describe(signature, "tensor", tensor_);
    }

    Posted post(int, mpi::RequestSet& requests) override {
        comm::post_gather(channel(), std::as_const(packed_).bytes(), receives_,
                          static_cast<std::int64_t>(tensor_.view().bytes()), root_, requests);
        return Posted::all;
    }

    void complete() override {
        for (std::size_t r = 0; r < list_.size(); ++r) {
            if (static_cast<int>(r) == root_) {
                copy(list_[r].view(), std::as_const(tensor_).view());
            } else {
                comm::unload(list_[r], received_[r]);
            }
        }
    }

    Outputs outputs_;
    Tensor tensor_;
    std::vector<Tensor> list_;
    Root dst_;
    int root_ = 0;
    Tensor packed_;                     // elsewhere: the tensor, contiguous
    std::vector<Tensor> received_;      // on dst: the entries, or what is unpacked into them
    std::vector<std::byte*> receives_;  // on dst: where these begin
};

}  // namespace

Async<std::vector<Tensor>> gather_async(const Tensor& tensor,
                                        const std::optional<std::vector<Tensor>>& gather_list, Root dst,
                                        GroupRef group) {
    return comm::launch<std::vector<Tensor>>(
        *group, std::make_shared<Gather>(Outputs::given, tensor, gather_list, dst));
}

Async<std::vector<Tensor>> gather_async(const Tensor& tensor, Root dst, GroupRef group) {
    return comm::launch<std::vector<Tensor>>(
        *group, std::make_shared<Gather>(Outputs::fresh, tensor, std::nullopt, dst));
}

std::vector<Tensor> gather(const Tensor& tensor, const std::optional<std::vector<Tensor>>& gather_list,
                           Root dst, GroupRef group) {
    return gather_async(tensor, gather_list, dst, group).wait();
}

std::vector<Tensor> gather(const Tensor& tensor, Root dst, GroupRef group) {
    return gather_async(tensor, dst, group).wait();
}

}  // namespace plumb
