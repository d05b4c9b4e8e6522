#include <plumb/comm/all_to_all_single.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/tensor/block.h>

#include "comm/arguments.h"
#include "comm/landing.h"
#include "comm/launch.h"
#include "comm/movement.h"
#include "comm/tensor_operation.h"

namespace plumb {

namespace {

using Sizes = std::vector<std::int64_t>;

void require_rows(const Tensor& tensor, std::string_view argument) {
    comm::require_defined(tensor, argument);
    if (tensor.ndim() == 0) {
        throw ArgumentError(fmt::format("{} has shape [], allowed is at least one dim to split", argument));
    }
}

Shape behind_dim_0(const Tensor& tensor) {
    return Shape(std::span(tensor.shape().begin() + 1, tensor.shape().end()));
}

/// Rows of each block: as given, or even.
Sizes checked_splits(const std::optional<Sizes>& given, std::string_view argument, std::int64_t rows,
                     std::string_view tensor, int size) {
    if (!given) {
        if (rows % size != 0) {
            throw ArgumentError(fmt::format("{} has {} rows, allowed without {} is a multiple of {}", tensor,
                                            rows, argument, size));
        }
        return Sizes(static_cast<std::size_t>(size), rows / size);
    }
    if (given->size() != static_cast<std::size_t>(size)) {
        throw ArgumentError(fmt::format("{} has {} entries, allowed is one per rank of the group: {}",
                                        argument, given->size(), size));
    }
    std::int64_t left = rows;
    for (const auto split : *given) {
        if (split < 0) {
            throw ArgumentError(fmt::format("{} is [{}], allowed are no negative entries", argument,
                                            fmt::join(*given, ", ")));
        }
        left = split <= left ? left - split : -1;
        if (left < 0) {
            break;
        }
    }
    if (left != 0) {
        throw ArgumentError(fmt::format("{} is [{}], allowed is a sum of {}, the rows of {}", argument,
                                        fmt::join(*given, ", "), rows, tensor));
    }
    return *given;
}

/// Where each block begins, in units of `unit`.
Sizes offsets_of(const Sizes& sizes, std::int64_t unit) {
    Sizes offsets;
    std::int64_t offset = 0;
    for (const auto size : sizes) {
        offsets.push_back(offset * unit);
        offset += size;
    }
    return offsets;
}

class AllToAllSingle final : public comm::TensorOperation {
  public:
    struct Splits {
        std::optional<Sizes> output;
        std::optional<Sizes> input;
        [[nodiscard]] bool given() const { return output || input; }
    };

    AllToAllSingle(Tensor input, Splits splits) : input_(std::move(input)), given_(std::move(splits)) {}
    AllToAllSingle(Tensor output, Tensor input, Splits splits)
        : TensorOperation(std::move(output)),
          into_(Into::given),
          input_(std::move(input)),
          given_(std::move(splits)) {}

    [[nodiscard]] std::string_view operation() const override { return "all_to_all_single"; }

  private:
    enum class Into { fresh, given };

    [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(channel().rank()); }

    void prepare() override {
        const int size = channel().size();
        require_rows(input_, "input");
        input_splits_ = checked_splits(given_.input, "input_split_sizes", input_.extent(0), "input", size);
        output_splits_ = checked_splits(given_.output, "output_split_sizes", output_rows(), "output", size);
        prepare_output(input_.dtype(), input_.shape().with(0, output_rows()), input_);
        if (!given_.given() && output().extent(0) != input_.extent(0)) {
            throw ArgumentError(
                fmt::format("output has {} rows, allowed without splits is as many as input: {}",
                            output().extent(0), input_.extent(0)));
        }
        if (input_splits_[own()] != output_splits_[own()]) {
            throw ArgumentError(
                fmt::format("input_split_sizes has {} rows for this rank itself, output_split_sizes {}",
                            input_splits_[own()], output_splits_[own()]));
        }
        plan();
    }

    /// Rows that the output has, or is to have.
    [[nodiscard]] std::int64_t output_rows() const {
        if (into_ == Into::given) {
            require_rows(output(), "output");
            return output().extent(0);
        }
        if (!given_.output) {
            return input_.extent(0);
        }
        std::int64_t rows = 0;
        for (const auto split : *given_.output) {
            if (split < 0 || split > std::numeric_limits<std::int64_t>::max() - rows) {
                throw ArgumentError(
                    fmt::format("output_split_sizes is [{}], allowed are no negative entries and a sum "
                                "below 2^63",
                                fmt::join(*given_.output, ", ")));
            }
            rows += split;
        }
        return rows;
    }

    void plan() {
        row_bytes_ = element_count(behind_dim_0(input_)) * static_cast<std::int64_t>(size_of(input_.dtype()));
        input_offsets_ = offsets_of(input_splits_, row_bytes_);
        output_offsets_ = offsets_of(output_splits_, row_bytes_);
        packed_ = input_.contiguous();
        received_ = comm::landing(output());
        scratch_.assign(4 * input_splits_.size(), 0);
    }

    void describe(mpi::Signature& signature) const override {
        signature.field("splits", given_.given() ? "given" : "even");
        if (!given_.given()) {
            comm::describe(signature, "input", input_);
            return;
        }
        signature.field("input dtype", name(input_.dtype()));
        const Shape behind = behind_dim_0(input_);
        signature.field("input shape behind dim 0", std::span(behind.begin(), behind.end()));
        for (int r = 0; r < channel().size(); ++r) {
            signature.sends(r, input_splits_[static_cast<std::size_t>(r)]);
            signature.expects(r, output_splits_[static_cast<std::size_t>(r)]);
        }
    }

    Posted post(int, mpi::RequestSet& requests) override {
        if (given_.given()) {
            post_uneven(requests);
        } else {
            comm::post_all_to_all(channel(), std::as_const(packed_).bytes(), input_offsets_,
                                  received_.bytes(), output_offsets_, input_splits_[own()] * row_bytes_,
                                  scratch_, requests);
        }
        // The own block, while the others travel.
        std::copy_n(std::as_const(packed_).bytes() + input_offsets_[own()], input_splits_[own()] * row_bytes_,
                    received_.bytes() + output_offsets_[own()]);
        return Posted::all;
    }

    void post_uneven(mpi::RequestSet& requests) {
        std::vector<comm::ConstBlock> sends;
        std::vector<comm::Block> receives;
        for (std::size_t r = 0; r < input_splits_.size(); ++r) {
            sends.push_back(
                {std::as_const(packed_).bytes() + input_offsets_[r], input_splits_[r] * row_bytes_});
            receives.push_back({received_.bytes() + output_offsets_[r], output_splits_[r] * row_bytes_});
        }
        comm::post_exchange(channel(), sends, receives, requests);
    }

    void complete() override { comm::unload(output(), received_); }

    Into into_ = Into::fresh;
    Tensor input_;
    Splits given_;
    Sizes input_splits_;  // rows
    Sizes output_splits_;
    Sizes input_offsets_;  // bytes
    Sizes output_offsets_;
    std::int64_t row_bytes_ = 0;
    Tensor packed_;             // the input, contiguous
    Tensor received_;           // the output, or what is unpacked into it
    std::vector<int> scratch_;  // counts and displacements of the even form
};

}  // namespace

Async<Tensor> all_to_all_single_async(const Tensor& output, const Tensor& input, GroupRef group) {
    return all_to_all_single_async(output, input, std::nullopt, std::nullopt, group);
}

Async<Tensor> all_to_all_single_async(const Tensor& input, GroupRef group) {
    return comm::launch<Tensor>(
        *group, std::make_shared<AllToAllSingle>(input, AllToAllSingle::Splits{std::nullopt, std::nullopt}));
}

Async<Tensor> all_to_all_single_async(const Tensor& output, const Tensor& input,
                                      const std::optional<Sizes>& output_split_sizes,
                                      const std::optional<Sizes>& input_split_sizes, GroupRef group) {
    return comm::launch<Tensor>(
        *group, std::make_shared<AllToAllSingle>(
                    output, input, AllToAllSingle::Splits{output_split_sizes, input_split_sizes}));
}

Async<Tensor> all_to_all_single_async(const Tensor& input, const Sizes& output_split_sizes,
                                      const Sizes& input_split_sizes, GroupRef group) {
    return comm::launch<Tensor>(*group,
                                std::make_shared<AllToAllSingle>(
                                    input, AllToAllSingle::Splits{output_split_sizes, input_split_sizes}));
}

Tensor all_to_all_single(const Tensor& output, const Tensor& input, GroupRef group) {
    return all_to_all_single_async(output, input, group).wait();
}

Tensor all_to_all_single(const Tensor& input, GroupRef group) {
    return all_to_all_single_async(input, group).wait();
}

Tensor all_to_all_single(const Tensor& output, const Tensor& input,
                         const std::optional<Sizes>& output_split_sizes,
                         const std::optional<Sizes>& input_split_sizes, GroupRef group) {
    return all_to_all_single_async(output, input, output_split_sizes, input_split_sizes, group).wait();
}

Tensor all_to_all_single(const Tensor& input, const Sizes& output_split_sizes, const Sizes& input_split_sizes,
                         GroupRef group) {
    return all_to_all_single_async(input, output_split_sizes, input_split_sizes, group).wait();
}

}  // namespace plumb
