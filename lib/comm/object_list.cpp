#include <plumb/comm/object_list.h>

#include <variant>

#include <plumb/context/group.h>

#include "comm/arguments.h"
#include "comm/movement.h"

namespace plumb::comm {

void ObjectBroadcast::add(std::span<const std::byte> object) {
    bytes_.insert(bytes_.end(), object.begin(), object.end());
    ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
}

std::span<const std::byte> ObjectBroadcast::object(std::size_t index) const {
    const auto begin = static_cast<std::size_t>(index == 0 ? 0 : ends_[index - 1]);
    return std::span(bytes_).subspan(begin, static_cast<std::size_t>(ends_[index]) - begin);
}

void ObjectBroadcast::prepare() {
    root_ = resolve(src_, "src", channel());
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void ObjectBroadcast::describe(mpi::Signature& signature) const {
    comm::describe(signature, "src", src_, channel());
    signature.field("number of objects", static_cast<std::int64_t>(count_));
    signature.field("type of objects", type_);
}

mpi::Header ObjectBroadcast::header() const {
    mpi::Header header{};
    if (channel().rank() == root_) {
        header[0] = bytes_.size();
    }
    return header;
}

void ObjectBroadcast::receive_header(const mpi::Header& header) {
    if (channel().rank() != root_) {
        ends_.resize(count_);
        bytes_.resize(header[0]);
    }
}

mpi::Operation::Posted ObjectBroadcast::post(int, mpi::RequestSet& requests) {
    post_broadcast(channel(), reinterpret_cast<std::byte*>(ends_.data()),
                   static_cast<std::int64_t>(ends_.size() * sizeof(std::int64_t)), root_, requests);
    post_broadcast(channel(), bytes_.data(), static_cast<std::int64_t>(bytes_.size()), root_, requests);
    return Posted::all;
}

bool names_this_rank(const Root& src, const Group& group) {
    if (!group.is_member()) {
        return false;
    }
    if (const auto* in_group = std::get_if<GroupRank>(&src.rank())) {
        return *in_group == group.rank();
    }
    return std::get<GlobalRank>(src.rank()) == group.global_rank(group.rank());
}

void submit_objects(const Group& group, const std::shared_ptr<ObjectBroadcast>& operation) {
    mpi::submit(group.channel(), operation);
    mpi::progress();
}

}  // namespace plumb::comm
