#include "ops/shift.h"

#include <utility>

#include <plumb/tensor/block.h>

#include "comm/movement.h"

namespace plumb::ops {

namespace {

/// The rank `step` places on, or -1 beyond the ends.
int neighbour(const mpi::Channel& channel, int step) {
    const int rank = channel.rank() + step;
    return rank < channel.size() ? rank : -1;
}

std::int64_t bytes_of(const Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.view().bytes());
}

}  // namespace

Shift::Shift(const mpi::Channel& channel, Direction direction, HaloImpl impl, const Tensor& sent,
             Tensor target)
    : direction_(direction), impl_(impl), target_(std::move(target)) {
    const int step = direction == Direction::to_next ? 1 : -1;
    source_ = neighbour(channel, -step);
    destination_ = neighbour(channel, step);
    if (impl == HaloImpl::collective) {
        sent_ = sent.contiguous();
        received_ = Tensor::empty({channel.size() * sent.element_count()}, sent.dtype());
        return;
    }
    if (destination_ >= 0) {
        sent_ = sent.contiguous();
    }
    if (source_ >= 0) {
        received_ = target_.is_contiguous() ? target_ : Tensor::empty(target_.shape(), target_.dtype());
    }
}

void Shift::post(const mpi::Channel& channel, mpi::RequestSet& requests) {
    if (impl_ == HaloImpl::collective) {
        comm::post_all_gather(channel, sent_.bytes(), received_.bytes(), bytes_of(sent_), requests);
    } else {
        post_to_neighbour(channel, requests);
    }
    if (source_ < 0) {
        fill_zero(target_.view());
    }
}

void Shift::post_to_neighbour(const mpi::Channel& channel, mpi::RequestSet& requests) {
    const auto lane = direction_ == Direction::to_next ? comm::Lane::rightward : comm::Lane::leftward;
    if (source_ >= 0) {
        comm::post_receive(channel, source_, {received_.bytes(), bytes_of(received_)}, lane, requests);
    }
    if (destination_ >= 0) {
        comm::post_send(channel, destination_, {sent_.bytes(), bytes_of(sent_)}, lane, requests);
    }
}

void Shift::complete() {
    if (source_ < 0) {
        return;
    }
    if (impl_ == HaloImpl::collective) {
        unpack(target_.view(), received_.bytes() + source_ * bytes_of(sent_));
    } else if (!received_.shares_storage_with(target_)) {
        copy(target_.view(), received_.view());
    }
}

}  // namespace plumb::ops
