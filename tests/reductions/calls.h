#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <plumb/context/group.h>
#include <plumb/mpi/counts.h>
#include <plumb/tensor/block.h>
#include <plumb/tensor/tensor.h>

#include "comm/ordered_reduction.h"
#include "reductions/elements.h"
#include "support/job.h"

/// What the tests of all reductions share.
namespace plumb::test {

/// Ways through the code that give the same bits: everything gathered, the work shared, the default choice,
/// messages in small pieces.
struct Path {
    const char* name;
    std::int64_t gather_limit;
    std::int64_t count_limit;
};
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max();
inline constexpr Path kPaths[] = {{"default", 64 << 10, kMostCount},
                                  {"gathered", kNoLimit, kMostCount},
                                  {"shared", 0, kMostCount},
                                  {"gathered in pieces", kNoLimit, 5},
                                  {"shared in pieces", 0, 5}};

/// Takes a path for the scope. Nothing may be in flight at either end.
class OnPath {
  public:
    explicit OnPath(const Path& path) {
        comm::set_gather_limit(path.gather_limit);
        mpi::set_count_limit(path.count_limit);
    }
    ~OnPath() {
        comm::set_gather_limit(gather_limit_);
        mpi::set_count_limit(count_limit_);
    }
    OnPath(const OnPath&) = delete;
    OnPath& operator=(const OnPath&) = delete;

  private:
    std::int64_t gather_limit_ = comm::gather_limit();
    std::int64_t count_limit_ = mpi::count_limit();
};

inline Tensor tensor_of(const Shape& shape, DType dtype, const Bytes& bytes) {
    Tensor tensor = Tensor::empty(shape, dtype);
    REQUIRE(tensor.view().bytes() == bytes.size());
    unpack(tensor.view(), bytes.data());
    return tensor;
}

inline Bytes bytes_of(const Tensor& tensor) {
    Bytes bytes(tensor.view().bytes());
    copy_out(tensor, bytes);
    return bytes;
}

/// What rank `rank` gives.
inline Tensor small_tensor(const Shape& shape, DType dtype, int rank) {
    return tensor_of(shape, dtype, small_values(dtype, rank, element_count(shape)));
}

enum class Arrangement { contiguous, transposed, sliced, every_second };
inline constexpr Arrangement kArrangements[] = {Arrangement::contiguous, Arrangement::transposed,
                                                Arrangement::sliced, Arrangement::every_second};

/// A part of a larger tensor, with the elements of `tensor` in other places.
struct Arranged {
    Tensor tensor;
    Tensor surroundings;  ///< the whole storage
};

inline Arranged arrange(const Tensor& tensor, Arrangement arrangement) {
    const Shape& shape = tensor.shape();
    if (shape.ndim() == 0 || arrangement == Arrangement::contiguous) {
        const Tensor clone = tensor.clone();
        return {clone, clone};
    }
    const int last = shape.ndim() - 1;
    Arranged result;
    if (arrangement == Arrangement::transposed) {
        Shape swapped = shape.with(0, shape[last]);
        swapped = swapped.with(last, shape[0]);
        result.surroundings = Tensor::zeros(swapped, tensor.dtype());
        result.tensor = result.surroundings.transpose(0, -1);
    } else if (arrangement == Arrangement::sliced) {
        result.surroundings = Tensor::zeros(shape.with(last, shape[last] + 3), tensor.dtype());
        result.tensor = result.surroundings.narrow(-1, 1, shape[last]);
    } else {
        result.surroundings = Tensor::zeros(shape.with(0, 2 * shape[0]), tensor.dtype());
        result.tensor = result.surroundings.stride_by(0, 2);
    }
    copy(result.tensor.view(), tensor.view());
    return result;
}

/// Whether nothing but the arranged elements was written: with them zeroed, all is zero.
inline bool only_elements_written(const Arranged& arranged) {
    Tensor tensor = arranged.tensor;
    fill_zero(tensor.view());
    const Bytes all = bytes_of(arranged.surroundings);
    return all == Bytes(all.size());
}

/// A group that this rank is not a member of.
inline const Group& outside_group() {
    static const Group group;
    return group;
}

/// Whether all ranks of MPI_COMM_WORLD hold the same bytes. Collective.
inline bool same_on_all_ranks(const Bytes& bytes) {
    std::vector<int> sizes(static_cast<std::size_t>(ranks()));
    const int size = static_cast<int>(bytes.size());
    MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (const int other : sizes)
        if (other != size) return false;
    Bytes all(bytes.size() * sizes.size());
    MPI_Allgather(bytes.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i] != bytes[i % bytes.size()]) return false;
    return true;
}

/// Shapes of each kind; the last is beyond the default gather limit of 3 ranks from 2 bytes an element on.
inline const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {}, {0}, {3, 0, 2}, {1}, {2, 3, 5}, {13}, {2, 1, 3, 1, 2, 1, 2, 3}, {101, 109}};
    return all;
}

}  // namespace plumb::test
