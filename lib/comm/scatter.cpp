#include <plumb/comm/scatter.h>

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/landing.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

class Scatter final : public comm::TensorOperation {
  public:
    Scatter(Tensor output, const std::optional<std::vector<Tensor>>& list, Root src)
        : TensorOperation(std::move(output)), list_(list.value_or(std::vector<Tensor>{})), src_(src) {}

    [[nodiscard]] std::string_view operation() const override { return "scatter"; }

  private:
    [[nodiscard]] bool is_src() const { return channel().rank() == root_; }

    void prepare() override {
        root_ = comm::resolve(src_, "src", channel());
        comm::require_defined(output(), "output");
        prepare_output(output().dtype(), output().shape(), {});
        comm::require_list(list_, "scatter_list", "src", root_, channel());
        if (is_src()) {
            prepare_sends();
        } else {
            received_ = comm::landing(output());
        }
    }

    void prepare_sends() {
        packed_.assign(list_.size(), {});
        sends_.assign(list_.size(), nullptr);
        for (std::size_t r = 0; r < list_.size(); ++r) {
            const Tensor& entry = list_[r];
            const std::string name = fmt::format("scatter_list[{}]", r);
            comm::require_defined(entry, name);
            comm::require_dtype(entry, name, output().dtype());
            comm::require_shape(entry, name, output().shape());
            comm::require_no_overlap(output(), "output", entry, name, channel().check_level());
            if (static_cast<int>(r) != root_) {
                packed_[r] = entry.contiguous();
                sends_[r] = std::as_const(packed_[r]).bytes();
            }
        }
    }

    void describe(mpi::Signature& signature) const override {
        comm::describe(signature, "src", src_, channel());
        comm::describe(signature, "output", output());
    }

    Posted post(int, mpi::RequestSet& requests) override {
        comm::post_scatter(channel(), sends_, received_.bytes(),
                           static_cast<std::int64_t>(output().view().bytes()), root_, requests);
        return Posted::all;
    }

    void complete() override {
        if (is_src()) {
            copy(output().view(), std::as_const(list_[static_cast<std::size_t>(root_)]).view());
        } else {
            comm::unload(output(), received_);
        }
    }

    std::vector<Tensor> list_;
    Root src_;
    int root_ = 0;
    std::vector<Tensor> packed_;           // on src: the entries of the others, contiguous
    std::vector<const std::byte*> sends_;  // on src: where these begin
    Tensor received_;                      // elsewhere: the output, or what is unpacked into it
};

}  // namespace

Async<Tensor> scatter_async(const Tensor& output, const std::optional<std::vector<Tensor>>& scatter_list,
                            Root src, GroupRef group) {
    return comm::launch<Tensor>(*group, std::make_shared<Scatter>(output, scatter_list, src));
}

Tensor scatter(const Tensor& output, const std::optional<std::vector<Tensor>>& scatter_list, Root src,
               GroupRef group) {
    return scatter_async(output, scatter_list, src, group).wait();
}

}  // namespace plumb
