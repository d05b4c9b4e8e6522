#include "comm/ordered_reduction.h"

#include <algorithm>

#include "comm/movement.h"
#include "comm/rank_order.h"

namespace plumb::comm {

namespace {

std::int64_t current_gather_limit = 64 << 10;

std::size_t at(int rank) {
    return static_cast<std::size_t>(rank);
}

}  // namespace

std::int64_t gather_limit() noexcept {
    return current_gather_limit;
}

void set_gather_limit(std::int64_t bytes) noexcept {
    current_gather_limit = bytes;
}

void OrderedReduction::prepare(const mpi::Channel& channel, const Buffers& buffers, ReduceOp op,
                               std::optional<int> root) {
    buffers_ = buffers;
    bytes_ = buffers.count * static_cast<std::int64_t>(size_of(buffers.dtype));
    op_ = op;
    root_ = root;
    size_ = channel.size();
    rank_ = channel.rank();
    chunks_.clear();
    inputs_.clear();
    // The same decision on all ranks: from what is equal on all.
    if (size_ > 2 && bytes_ > gather_limit() / size_) {
        prepare_shared();
    } else {
        prepare_gathered();
    }
}

void OrderedReduction::prepare_gathered() {
    reduced_ = buffers_.destination;
    if (reduced_ == nullptr) {
        return;
    }
    place_received(bytes_);
    if (root_) {
        inputs_[at(rank_)] = buffers_.source;
    }
}

void OrderedReduction::prepare_shared() {
    const auto element = static_cast<std::int64_t>(size_of(buffers_.dtype));
    const std::int64_t length = buffers_.count / size_;
    const std::int64_t longer = buffers_.count % size_;
    std::int64_t offset = 0;
    for (int r = 0; r < size_; ++r) {
        const std::int64_t bytes = (r < longer ? length + 1 : length) * element;
        chunks_.push_back({offset, bytes});
        offset += bytes;
    }
    const Chunk own = chunk(rank_);
    place_received(own.bytes);
    inputs_[at(rank_)] = buffers_.source + own.offset;
    if (buffers_.destination != nullptr) {
        reduced_ = buffers_.destination + own.offset;
    } else {
        own_result_ = Tensor::empty({own.bytes}, DType::u8);
        reduced_ = own_result_.bytes();
    }
}

/// A block of `bytes` from every rank.
void OrderedReduction::place_received(std::int64_t bytes) {
    received_ = Tensor::empty({size_, bytes}, DType::u8);
    for (int r = 0; r < size_; ++r) {
        inputs_.push_back(received_.bytes() + r * bytes);
    }
}

bool OrderedReduction::post(const mpi::Channel& channel, int step, mpi::RequestSet& requests) {
    if (chunks_.empty()) {
        post_gathered(channel, requests);
        return false;
    }
    if (step == 0) {
        post_chunks(channel, requests);
        return true;
    }
    const auto element = static_cast<std::int64_t>(size_of(buffers_.dtype));
    reduce_in_rank_order(reduced_, inputs_, chunk(rank_).bytes / element, buffers_.dtype, op_);
    post_results(channel, requests);
    return false;
}

void OrderedReduction::complete() {
    if (chunks_.empty() && reduced_ != nullptr) {
        reduce_in_rank_order(reduced_, inputs_, buffers_.count, buffers_.dtype, op_);
    }
}

void OrderedReduction::post_gathered(const mpi::Channel& channel, mpi::RequestSet& requests) {
    if (!root_) {
        post_all_gather(channel, buffers_.source, received_.bytes(), bytes_, requests);
        return;
    }
    std::vector<std::byte*> places;
    if (rank_ == *root_) {
        for (int r = 0; r < size_; ++r) {
            places.push_back(received_.bytes() + r * bytes_);
        }
    }
    post_gather(channel, buffers_.source, places, bytes_, *root_, requests);
}

void OrderedReduction::post_chunks(const mpi::Channel& channel, mpi::RequestSet& requests) {
    std::vector<ConstBlock> sends;
    std::vector<Block> receives;
    const std::int64_t own = chunk(rank_).bytes;
    for (int r = 0; r < size_; ++r) {
        sends.push_back({buffers_.source + chunk(r).offset, chunk(r).bytes});
        receives.push_back({received_.bytes() + r * own, own});
    }
    post_exchange(channel, sends, receives, requests);
}

void OrderedReduction::post_results(const mpi::Channel& channel, mpi::RequestSet& requests) const {
    if (!root_) {
        std::vector<std::int64_t> sizes;
        for (const Chunk& each : chunks_) {
            sizes.push_back(each.bytes);
        }
        post_all_gather(channel, reduced_, buffers_.destination, sizes, requests);
        return;
    }
    std::vector<ConstBlock> sends(at(size_));
    std::vector<Block> receives(at(size_));
    if (rank_ == *root_) {
        for (int r = 0; r < size_; ++r) {
            receives[at(r)] = {buffers_.destination + chunk(r).offset, chunk(r).bytes};
        }
    } else {
        sends[at(*root_)] = {reduced_, chunk(rank_).bytes};
    }
    post_exchange(channel, sends, receives, requests);
}

}  // namespace plumb::comm
