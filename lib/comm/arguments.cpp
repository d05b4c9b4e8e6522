#include "comm/arguments.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb::comm {

void require_defined(const Tensor& tensor, std::string_view argument) {
    if (!tensor.defined()) {
        throw ArgumentError(fmt::format("{} is an undefined tensor", argument));
    }
    if (tensor.space() != MemorySpace::host) {
        throw ArgumentError(
            fmt::format("{} is in {} memory, allowed is host", argument, name(tensor.space())));
    }
}

void require_dtype(const Tensor& tensor, std::string_view argument, DType dtype) {
    if (tensor.dtype() != dtype) {
        throw ArgumentError(
            fmt::format("{} has dtype {}, allowed is {}", argument, name(tensor.dtype()), name(dtype)));
    }
}

void require_shape(const Tensor& tensor, std::string_view argument, const Shape& shape) {
    if (!(tensor.shape() == shape)) {
        throw ArgumentError(fmt::format("{} has shape {}, allowed is {}", argument, to_string(tensor.shape()),
                                        to_string(shape)));
    }
}

void require_output(const Tensor& tensor, std::string_view argument, DType dtype, const Shape& shape,
                    mpi::CheckLevel level) {
    require_defined(tensor, argument);
    require_dtype(tensor, argument, dtype);
    require_shape(tensor, argument, shape);
    if (level != mpi::CheckLevel::off && overlaps_itself(tensor.view())) {
        throw ArgumentError(
            fmt::format("{} overlaps itself (shape {}, strides {}): two of its elements share memory",
                        argument, to_string(tensor.shape()), to_string(tensor.strides())));
    }
}

void require_no_overlap(const Tensor& output, std::string_view output_argument, const Tensor& input,
                        std::string_view input_argument, mpi::CheckLevel level) {
    if (level != mpi::CheckLevel::off && overlap(output.view(), input.view())) {
        throw ArgumentError(
            fmt::format("{} overlaps {}: they share memory", output_argument, input_argument));
    }
}

void require_list(const std::vector<Tensor>& list, std::string_view argument, std::string_view root_argument,
                  int root, const mpi::Channel& channel) {
    const int root_rank = channel.global_rank(root).value;
    if (channel.rank() != root) {
        if (!list.empty()) {
            throw ArgumentError(
                fmt::format("{} has {} tensors on a rank that is not {} (rank {}), allowed is none there",
                            argument, list.size(), root_argument, root_rank));
        }
    } else if (list.empty()) {
        throw ArgumentError(fmt::format("{} is not given on {} (rank {}), allowed is one of {} tensors there",
                                        argument, root_argument, root_rank, channel.size()));
    } else if (list.size() != channel.ranks().size()) {
        throw ArgumentError(fmt::format("{} has {} tensors, allowed is one per rank of the group: {}",
                                        argument, list.size(), channel.size()));
    }
}

namespace {

/// Position in the group, or -1.
int position(const Root& root, const mpi::Channel& channel) {
    if (const auto* in_group = std::get_if<GroupRank>(&root.rank())) {
        return in_group->value >= 0 && in_group->value < channel.size() ? in_group->value : -1;
    }
    const auto& ranks = channel.ranks();
    const auto place = std::find(ranks.begin(), ranks.end(), std::get<GlobalRank>(root.rank()));
    return place == ranks.end() ? -1 : static_cast<int>(place - ranks.begin());
}

}  // namespace

int resolve(const Root& root, std::string_view argument, const mpi::Channel& channel) {
    const int place = position(root, channel);
    if (place >= 0) {
        return place;
    }
    if (const auto* in_group = std::get_if<GroupRank>(&root.rank())) {
        throw ArgumentError(fmt::format("{} is group rank {}, allowed is 0 … {}", argument, in_group->value,
                                        channel.size() - 1));
    }
    throw ArgumentError(fmt::format("{} is global rank {}, which is not in the group, allowed are {}",
                                    argument, std::get<GlobalRank>(root.rank()).value,
                                    mpi::rank_list(channel.ranks())));
}

void describe(mpi::Signature& signature, std::string_view argument, const Root& root,
              const mpi::Channel& channel) {
    const int place = position(root, channel);
    signature.field(argument, place < 0 ? std::int64_t{-1} : std::int64_t{channel.global_rank(place).value});
}

void describe(mpi::Signature& signature, std::string_view argument, const Tensor& tensor) {
    describe(signature, argument, tensor.dtype(), tensor.shape());
}

namespace {

/// "input" + " dtype" without heap memory: this runs in every call.
class FieldName {
  public:
    FieldName(std::string_view argument, std::string_view property) {
        size_ = std::min(argument.size(), text_.size() - property.size());
        std::copy_n(argument.data(), size_, text_.data());
        std::copy_n(property.data(), property.size(), text_.data() + size_);
        size_ += property.size();
    }
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

  private:
    std::array<char, 64> text_{};
    std::size_t size_ = 0;
};

}  // namespace

void describe(mpi::Signature& signature, std::string_view argument, DType dtype, const Shape& shape) {
    signature.field(FieldName(argument, " dtype").text(), name(dtype));
    signature.field(FieldName(argument, " shape").text(), std::span(shape.begin(), shape.end()));
}

mpi::Header to_header(DType dtype, const Shape& shape) {
    static_assert(mpi::kHeaderWords >= 2 + kMaxDims);
    mpi::Header header{};
    header[0] = static_cast<std::uint64_t>(dtype) + 1;
    header[1] = static_cast<std::uint64_t>(shape.ndim());
    for (int d = 0; d < shape.ndim(); ++d) {
        header[static_cast<std::size_t>(d) + 2] = static_cast<std::uint64_t>(shape[d]);
    }
    return header;
}

TensorMeta from_header(const mpi::Header& header) {
    TensorMeta meta{static_cast<DType>(header[0] - 1), {}};
    for (std::size_t d = 0; d < header[1]; ++d) {
        meta.shape.push_back(static_cast<std::int64_t>(header[d + 2]));
    }
    return meta;
}

}  // namespace plumb::comm
