#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <plumb/mpi/channel.h>
#include <plumb/mpi/requests.h>

namespace plumb::comm {

/// The payload of every op: bytes moved between the ranks of a group by non-blocking MPI calls on its data
/// communicator. Each function posts into `requests` and returns; buffers are the caller's and stay in place
/// until the requests are complete. Where a message is too large for an int count (mpi::count_limit()), the
/// same bytes travel point to point in pieces instead. Sizes that a function takes as one number are equal on
/// all ranks.
///
/// Non-blocking forms only: MPI does not match them with blocking ones, and a rank may call the blocking form
/// of an op where its peer calls the async one.

struct Block {
    std::byte* data = nullptr;
    std::int64_t bytes = 0;
};
struct ConstBlock {
    const std::byte* data = nullptr;
    std::int64_t bytes = 0;
};

/// Every rank's `bytes` at `send` arrive on every rank, in group order at `receive` (size * bytes long).
/// MPI_Iallgather.
void post_all_gather(const mpi::Channel& channel, const std::byte* send, std::byte* receive,
                     std::int64_t bytes, mpi::RequestSet& requests);

/// As post_all_gather with sizes[r] bytes from rank r (equal on all ranks). MPI_Iallgatherv.
void post_all_gather(const mpi::Channel& channel, const std::byte* send, std::byte* receive,
                     std::span<const std::int64_t> sizes, mpi::RequestSet& requests);

/// The root's bytes arrive everywhere. MPI_Ibcast.
void post_broadcast(const mpi::Channel& channel, std::byte* data, std::int64_t bytes, int root,
                    mpi::RequestSet& requests);

/// Every rank's `bytes` arrive on the root, where receive[r] (bytes long) is rank r's place; the root's own
/// block does not travel and is not written. MPI_Isend / MPI_Irecv.
void post_gather(const mpi::Channel& channel, const std::byte* send, std::span<std::byte* const> receive,
                 std::int64_t bytes, int root, mpi::RequestSet& requests);

/// The reverse: send[r] on the root arrives on rank r; the root's own block does not travel.
void post_scatter(const mpi::Channel& channel, std::span<const std::byte* const> send, std::byte* receive,
                  std::int64_t bytes, int root, mpi::RequestSet& requests);

/// One block to and from every rank, `bytes` each; sends[r] and receives[r] are offsets in bytes from
/// `send_base` and `receive_base`. The own block does not travel. MPI_Ialltoallv; the scratch spans hold its
/// counts and displacements and must stay in place, 4 * size ints.
void post_all_to_all(const mpi::Channel& channel, const std::byte* send_base,
                     std::span<const std::int64_t> sends, std::byte* receive_base,
                     std::span<const std::int64_t> receives, std::int64_t bytes, std::span<int> scratch,
                     mpi::RequestSet& requests);

/// Blocks of any size to and from every rank; the two ends of each pair agree on theirs. The own block does
/// not travel, nor do empty ones. MPI_Isend / MPI_Irecv.
void post_exchange(const mpi::Channel& channel, std::span<const ConstBlock> sends,
                   std::span<const Block> receives, mpi::RequestSet& requests);

/// What keeps point-to-point payloads of one operation apart. Different operations are kept apart by their
/// order.
enum class Lane : int { exchange = 0, leftward = 1, rightward = 2 };

/// One block to, or from, one rank, in pieces where it is large.
void post_send(const mpi::Channel& channel, int peer, ConstBlock block, Lane lane, mpi::RequestSet& requests);
void post_receive(const mpi::Channel& channel, int peer, Block block, Lane lane, mpi::RequestSet& requests);

}  // namespace plumb::comm
