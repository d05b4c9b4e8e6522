#pragma once

#include <plumb/mpi/channel.h>
#include <plumb/mpi/requests.h>
#include <plumb/ops/halo_impl.h>
#include <plumb/tensor/tensor.h>

namespace plumb::ops {

/// Which way blocks travel along the group: from every rank to the next, or to the previous one.
enum class Direction { to_next, to_previous };

/// Every rank's `sent` block arrives as its neighbour's `target`; where no neighbour sends, the target is
/// filled with zeros. Blocks have the same shape and dtype on all ranks and are sent from, and received into,
/// their place where they lie contiguously there.
class Shift {
  public:
    /// Allocates and packs. Nothing is written to `target` before post().
    Shift(const mpi::Channel& channel, Direction direction, HaloImpl impl, const Tensor& sent, Tensor target);

    /// Collective over the channel; shifts in the same order on all ranks.
    void post(const mpi::Channel& channel, mpi::RequestSet& requests);
    /// Once the requests are complete.
    void complete();

    [[nodiscard]] const Tensor& target() const noexcept { return target_; }

  private:
    void post_to_neighbour(const mpi::Channel& channel, mpi::RequestSet& requests);

    Direction direction_;
    HaloImpl impl_;
    int source_;       // whose block arrives here, or -1
    int destination_;  // where this rank's goes, or -1
    Tensor sent_;      // contiguous; undefined where nobody takes it
    Tensor target_;
    Tensor received_;  // p2p: the target, or what is copied there; collective: all ranks' blocks
};

}  // namespace plumb::ops
