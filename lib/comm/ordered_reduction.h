#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <plumb/comm/reduce_op.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/requests.h>
#include <plumb/tensor/tensor.h>

namespace plumb::comm {

/// Above this number of bytes, all ranks' contributions together, a group of more than two ranks shares the
/// work of a reduction. Default: 64 KiB. Tests move it; must be equal on all ranks, and set while nothing is
/// in flight.
[[nodiscard]] std::int64_t gather_limit() noexcept;
void set_gather_limit(std::int64_t bytes) noexcept;

/// The payload of all_reduce, reduce and all_reduce_dict: as many elements on every rank, reduced in rank
/// order, to all ranks or to one. Two ways, which give the same bits:
///
///   gathered   whoever gets the result receives everything and reduces it: one step.
///   shared     rank r receives all ranks' elements of the r-th of size chunks, and reduces them; then the
///              reduced chunks are collected: two steps, and memory for no more than one contribution.
class OrderedReduction {
  public:
    /// What this rank gives (contiguous, `count` elements) and where the result goes: null where this rank
    /// gets none, possibly `source` itself. Both stay in place until complete().
    struct Buffers {
        const std::byte* source = nullptr;
        std::byte* destination = nullptr;
        std::int64_t count = 0;
        DType dtype = DType::f32;
    };

    /// Allocates what is needed. `root`: the rank that gets the result; none: all do.
    void prepare(const mpi::Channel& channel, const Buffers& buffers, ReduceOp op, std::optional<int> root);
    /// Posts step 0, 1, …; whether there is another one. Writes to `destination` from step 1 on, when nothing
    /// needs `source` any more.
    [[nodiscard]] bool post(const mpi::Channel& channel, int step, mpi::RequestSet& requests);
    /// After the last step: the result is in `destination`.
    void complete();

  private:
    /// Bytes of the whole.
    struct Chunk {
        std::int64_t offset = 0;
        std::int64_t bytes = 0;
    };

    void prepare_gathered();
    void prepare_shared();
    void place_received(std::int64_t bytes);
    void post_gathered(const mpi::Channel& channel, mpi::RequestSet& requests);
    void post_chunks(const mpi::Channel& channel, mpi::RequestSet& requests);
    void post_results(const mpi::Channel& channel, mpi::RequestSet& requests) const;
    [[nodiscard]] const Chunk& chunk(int rank) const { return chunks_[static_cast<std::size_t>(rank)]; }

    Buffers buffers_;
    std::int64_t bytes_ = 0;  // of one contribution
    ReduceOp op_ = ReduceOp::sum;
    std::optional<int> root_;
    int size_ = 0;
    int rank_ = 0;
    std::vector<Chunk> chunks_;             // shared: who reduces what; gathered: empty
    Tensor received_;                       // one block per rank
    std::vector<const std::byte*> inputs_;  // what this rank reduces, in rank order
    std::byte* reduced_ = nullptr;          // where to
    Tensor own_result_;                     // there, on a rank that gets no result
};

}  // namespace plumb::comm
