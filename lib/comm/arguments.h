#pragma once

#include <string_view>
#include <vector>

#include <plumb/comm/root.h>
#include <plumb/mpi/agreement.h>
#include <plumb/mpi/channel.h>
#include <plumb/tensor/tensor.h>

namespace plumb::comm {

/// Checks of one argument on one rank. All throw ArgumentError that names the argument, what was given and
/// what is allowed; raised in an operation's prepare(), they become part of the agreement.

void require_defined(const Tensor& tensor, std::string_view argument);
void require_dtype(const Tensor& tensor, std::string_view argument, DType dtype);
void require_shape(const Tensor& tensor, std::string_view argument, const Shape& shape);
/// Defined, of this dtype and shape, and not overlapping itself (the last not at CheckLevel::off).
void require_output(const Tensor& tensor, std::string_view argument, DType dtype, const Shape& shape,
                    mpi::CheckLevel level);
/// Not at CheckLevel::off.
void require_no_overlap(const Tensor& output, std::string_view output_argument, const Tensor& input,
                        std::string_view input_argument, mpi::CheckLevel level);

/// One tensor per rank of the group on the root (called `root_argument`, at group rank `root`), none
/// elsewhere.
void require_list(const std::vector<Tensor>& list, std::string_view argument, std::string_view root_argument,
                  int root, const mpi::Channel& channel);

/// The root's position in the group.
[[nodiscard]] int resolve(const Root& root, std::string_view argument, const mpi::Channel& channel);
/// Adds the root, by its global rank, to what must be equal on all ranks.
void describe(mpi::Signature& signature, std::string_view argument, const Root& root,
              const mpi::Channel& channel);

/// Adds dtype and shape to what must be equal on all ranks, as "<argument> dtype" and "<argument> shape".
void describe(mpi::Signature& signature, std::string_view argument, const Tensor& tensor);
void describe(mpi::Signature& signature, std::string_view argument, DType dtype, const Shape& shape);

/// dtype and shape as header words, and back: how a root tells the others what it has.
[[nodiscard]] mpi::Header to_header(DType dtype, const Shape& shape);
struct TensorMeta {
    DType dtype;
    Shape shape;
};
[[nodiscard]] TensorMeta from_header(const mpi::Header& header);

}  // namespace plumb::comm
