#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <plumb/tensor/tensor.h>

namespace plumb::cli {

/// How a tensor lies in memory. Where a shape has too few dimensions for the one asked for, the next simpler
/// one that is not contiguous is taken, if there is any.
enum class Layout : std::uint8_t { contiguous, transposed, sliced, expanded };
[[nodiscard]] std::string_view name(Layout layout);

/// A tensor and the memory around it, which remembers what it held. Local.
class Placed {
  public:
    /// With the elements of `values`. Layout::expanded repeats entry 0 of dim 0 with a stride of 0, and is
    /// for tensors whose entries are all equal there.
    static Placed holding(const Tensor& values, Layout layout);
    /// To be written to: filled with a pattern that no result is likely to hold.
    static Placed blank(const Shape& shape, DType dtype, Layout layout);

    [[nodiscard]] const Tensor& tensor() const noexcept { return tensor_; }
    /// Whether every byte, around the tensor too, is still what it was.
    [[nodiscard]] bool unchanged() const;
    /// Whether every byte that is not the tensor's is.
    [[nodiscard]] bool outside_unchanged() const;

  private:
    Placed(const Shape& shape, DType dtype, Layout layout);
    void remember() { before_ = base_.clone(); }

    Layout layout_;
    Tensor base_;
    Tensor tensor_;
    Tensor before_;
};

}  // namespace plumb::cli
