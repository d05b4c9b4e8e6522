#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <plumb/context/parallel_mode.h>

namespace plumb {

/// Named axes and their sizes, slowest first, as in "data=2,sequence=4": rank 0 … 3 are the first sequence
/// group.
class Mesh {
  public:
    struct Axis {
        ParallelMode mode;
        int size;
        bool operator==(const Axis&) const = default;
    };

    /// Throws ArgumentError: an unknown or repeated axis, a size that is not a whole number >= 1, a product
    /// beyond 2^31-1, or no axis at all.
    explicit Mesh(std::string_view text);
    explicit Mesh(std::vector<Axis> axes);

    [[nodiscard]] const std::vector<Axis>& axes() const noexcept { return axes_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    /// 1 for an axis that the mesh does not name.
    [[nodiscard]] int extent(ParallelMode axis) const noexcept;
    [[nodiscard]] bool has(ParallelMode axis) const noexcept;
    /// "data=2,sequence=4".
    [[nodiscard]] std::string to_string() const;

  private:
    void validate();

    std::vector<Axis> axes_;
    int size_ = 1;
};

}  // namespace plumb
