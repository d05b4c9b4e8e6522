#include "comm/movement.h"

#include <algorithm>
#include <vector>

#include <plumb/mpi/counts.h>

namespace plumb::comm {

namespace {

using mpi::check;
using mpi::fits_count;
using mpi::for_each_piece;

std::size_t at(int rank) {
    return static_cast<std::size_t>(rank);
}

}  // namespace

void post_send(const mpi::Channel& channel, int peer, ConstBlock block, Lane lane,
               mpi::RequestSet& requests) {
    for_each_piece(block.bytes, [&](std::int64_t offset, int length) {
        check(MPI_Isend(block.data + offset, length, MPI_BYTE, peer, static_cast<int>(lane), channel.data(),
                        requests.next()),
              "MPI_Isend", channel.caller());
    });
}

void post_receive(const mpi::Channel& channel, int peer, Block block, Lane lane, mpi::RequestSet& requests) {
    for_each_piece(block.bytes, [&](std::int64_t offset, int length) {
        check(MPI_Irecv(block.data + offset, length, MPI_BYTE, peer, static_cast<int>(lane), channel.data(),
                        requests.next()),
              "MPI_Irecv", channel.caller());
    });
}

void post_exchange(const mpi::Channel& channel, std::span<const ConstBlock> sends,
                   std::span<const Block> receives, mpi::RequestSet& requests) {
    // Each rank starts with its next neighbour, so that no rank is everybody's first target.
    for (int step = 1; step < channel.size(); ++step) {
        const int from = (channel.rank() + channel.size() - step) % channel.size();
        if (receives[at(from)].bytes > 0) {
            post_receive(channel, from, receives[at(from)], Lane::exchange, requests);
        }
    }
    for (int step = 1; step < channel.size(); ++step) {
        const int to = (channel.rank() + step) % channel.size();
        if (sends[at(to)].bytes > 0) {
            post_send(channel, to, sends[at(to)], Lane::exchange, requests);
        }
    }
}

void post_all_gather(const mpi::Channel& channel, const std::byte* send, std::byte* receive,
                     std::int64_t bytes, mpi::RequestSet& requests) {
    if (fits_count(bytes * channel.size())) {
        const int count = static_cast<int>(bytes);
        check(
            MPI_Iallgather(send, count, MPI_BYTE, receive, count, MPI_BYTE, channel.data(), requests.next()),
            "MPI_Iallgather", channel.caller());
        return;
    }
    const std::vector<std::int64_t> sizes(at(channel.size()), bytes);
    post_all_gather(channel, send, receive, sizes, requests);
}

void post_all_gather(const mpi::Channel& channel, const std::byte* send, std::byte* receive,
                     std::span<const std::int64_t> sizes, mpi::RequestSet& requests) {
    // Point to point in every case: the sizes are known on both sides, and so are the pieces.
    std::vector<ConstBlock> sends(at(channel.size()), {send, sizes[at(channel.rank())]});
    std::vector<Block> receives;
    std::int64_t offset = 0;
    for (const auto bytes : sizes) {
        receives.push_back({receive + offset, bytes});
        offset += bytes;
    }
    const Block& own = receives[at(channel.rank())];
    if (own.bytes > 0 && own.data != send) {
        std::copy_n(send, own.bytes, own.data);
    }
    post_exchange(channel, sends, receives, requests);
}

void post_broadcast(const mpi::Channel& channel, std::byte* data, std::int64_t bytes, int root,
                    mpi::RequestSet& requests) {
    for_each_piece(bytes, [&](std::int64_t offset, int length) {
        check(MPI_Ibcast(data + offset, length, MPI_BYTE, root, channel.data(), requests.next()),
              "MPI_Ibcast", channel.caller());
    });
}

void post_gather(const mpi::Channel& channel, const std::byte* send, std::span<std::byte* const> receive,
                 std::int64_t bytes, int root, mpi::RequestSet& requests) {
    if (channel.rank() != root) {
        post_send(channel, root, {send, bytes}, Lane::exchange, requests);
        return;
    }
    for (int r = 0; r < channel.size(); ++r) {
        if (r != root) {
            post_receive(channel, r, {receive[at(r)], bytes}, Lane::exchange, requests);
        }
    }
}

void post_scatter(const mpi::Channel& channel, std::span<const std::byte* const> send, std::byte* receive,
                  std::int64_t bytes, int root, mpi::RequestSet& requests) {
    if (channel.rank() != root) {
        post_receive(channel, root, {receive, bytes}, Lane::exchange, requests);
        return;
    }
    for (int r = 0; r < channel.size(); ++r) {
        if (r != root) {
            post_send(channel, r, {send[at(r)], bytes}, Lane::exchange, requests);
        }
    }
}

void post_all_to_all(const mpi::Channel& channel, const std::byte* send_base,
                     std::span<const std::int64_t> sends, std::byte* receive_base,
                     std::span<const std::int64_t> receives, std::int64_t bytes, std::span<int> scratch,
                     mpi::RequestSet& requests) {
    const int size = channel.size();
    // Equal on all ranks, as `bytes` is: all take the same way.
    if (!fits_count(bytes * size)) {
        for (int step = 1; step < size; ++step) {
            const int from = (channel.rank() + size - step) % size;
            post_receive(channel, from, {receive_base + receives[at(from)], bytes}, Lane::exchange, requests);
        }
        for (int step = 1; step < size; ++step) {
            const int to = (channel.rank() + step) % size;
            post_send(channel, to, {send_base + sends[at(to)], bytes}, Lane::exchange, requests);
        }
        return;
    }
    const auto send_counts = scratch.subspan(0, at(size));
    const auto send_places = scratch.subspan(at(size), at(size));
    const auto receive_counts = scratch.subspan(2 * at(size), at(size));
    const auto receive_places = scratch.subspan(3 * at(size), at(size));
    for (int r = 0; r < size; ++r) {
        const int count = r == channel.rank() ? 0 : static_cast<int>(bytes);
        send_counts[at(r)] = receive_counts[at(r)] = count;
        send_places[at(r)] = static_cast<int>(sends[at(r)]);
        receive_places[at(r)] = static_cast<int>(receives[at(r)]);
    }
    check(MPI_Ialltoallv(send_base, send_counts.data(), send_places.data(), MPI_BYTE, receive_base,
                         receive_counts.data(), receive_places.data(), MPI_BYTE, channel.data(),
                         requests.next()),
          "MPI_Ialltoallv", channel.caller());
}

}  // namespace plumb::comm
