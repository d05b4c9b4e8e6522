#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace plumb::mpi {

/// The largest count, displacement or byte count that one MPI call is given. Default: 2^31-1, what an `int`
/// holds. Tests lower it (to 1 or more) to send every op through the code for large messages. Must be equal
/// on all ranks; set it while nothing is in flight.
[[nodiscard]] std::int64_t count_limit() noexcept;
void set_count_limit(std::int64_t limit);

/// Whether `bytes` may be one MPI count or displacement.
[[nodiscard]] inline bool fits_count(std::int64_t bytes) noexcept {
    return bytes <= count_limit();
}

/// Calls `piece(offset, length)` for consecutive pieces of `bytes`, each at most count_limit() long; once
/// with length 0 where `bytes` is 0, so that a message always exists on both sides.
template <class Piece>
void for_each_piece(std::int64_t bytes, Piece&& piece) {
    std::int64_t offset = 0;
    do {
        const std::int64_t length = std::min(bytes - offset, count_limit());
        piece(offset, static_cast<int>(length));
        offset += length;
    } while (offset < bytes);
}

}  // namespace plumb::mpi
