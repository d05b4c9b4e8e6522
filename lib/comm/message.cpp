#include "comm/message.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include <plumb/core/error.h>
#include <plumb/mpi/agreement.h>
#include <plumb/mpi/counts.h>

#include "comm/arguments.h"
#include "comm/landing.h"

namespace plumb::comm {

namespace {

// On the agreement communicator nothing else is point to point; on the data communicator the tags below
// kFirstDataTag are the collectives' (Lane). All stay within the 32767 that every MPI can do.
constexpr int kFirstDataTag = 16;
static_assert(2 * kMaxTag + 1 <= 32767 && kFirstDataTag + kMaxTag <= 32767);

int header_tag(int tag, P2PKind from) {
    return 2 * tag + (from == P2PKind::send ? 0 : 1);
}

mpi::Signature signature_of(const MessageHeader& header, int place, std::string_view operation) {
    mpi::Signature signature(mpi::Signature::Form::text, place);
    signature.field("operation", operation);
    if (header.failed != 0) {
        signature.fail(header.error.data());
        return signature;
    }
    const auto extents = std::span(header.extents).first(static_cast<std::size_t>(header.ndim));
    signature.field("tensor dtype", name(static_cast<DType>(header.dtype)));
    signature.field("tensor shape", std::span<const std::int64_t>(extents));
    return signature;
}

}  // namespace

bool MessageHeader::matches(const MessageHeader& other) const {
    return failed == 0 && other.failed == 0 && dtype == other.dtype && ndim == other.ndim &&
           extents == other.extents;
}

Message::Message(const mpi::Channel& channel, const P2POp& op, std::string_view argument)
    : kind_(op.kind), tensor_(op.tensor), peer_(resolve(op.peer, argument, channel)), tag_(op.tag.value) {
    if (tag_ < 0 || tag_ > kMaxTag) {
        throw ArgumentError(fmt::format("tag is {}, allowed is 0 … {}", tag_, kMaxTag));
    }
    const int rank = channel.global_rank(peer_).value;
    waits_for_ = sends() ? fmt::format("rank {} to receive (tag {})", rank, tag_)
                         : fmt::format("rank {} to send (tag {})", rank, tag_);
}

void Message::prepare() {
    if (!preset_error_.empty()) {
        throw ArgumentError(preset_error_);
    }
    require_defined(tensor_, "tensor");
    if (sends()) {
        travelling_ = tensor_.contiguous();
    } else {
        require_output(tensor_, "tensor", tensor_.dtype(), tensor_.shape(), channel().check_level());
        travelling_ = landing(tensor_);
    }
}

void Message::describe() {
    if (local_failure_) {
        const std::string text = describe_failure(local_failure_);
        mine_.failed = 1;
        std::copy_n(text.data(), std::min(text.size(), mine_.error.size() - 1), mine_.error.data());
        return;
    }
    mine_.dtype = static_cast<std::uint64_t>(tensor_.dtype());
    mine_.ndim = tensor_.ndim();
    std::copy(tensor_.shape().begin(), tensor_.shape().end(), mine_.extents.begin());
}

void Message::start() {
    try {
        prepare();
    } catch (const std::exception&) {
        local_failure_ = std::current_exception();
    }
    if (channel().check_level() == mpi::CheckLevel::agree) {
        describe();
        post_header();
    } else {
        state_ = State::ready;
    }
}

void Message::post_header() {
    state_ = State::header;
    const MPI_Comm comm = channel().agreement();
    const P2PKind theirs = sends() ? P2PKind::recv : P2PKind::send;
    const int bytes = static_cast<int>(sizeof(MessageHeader));
    mpi::check(MPI_Irecv(&theirs_, bytes, MPI_BYTE, peer_, header_tag(tag_, theirs), comm, requests_.next()),
               "MPI_Irecv", channel().caller());
    mpi::check(MPI_Isend(&mine_, bytes, MPI_BYTE, peer_, header_tag(tag_, kind_), comm, requests_.next()),
               "MPI_Isend", channel().caller());
}

void Message::move_on(bool may_post) {
    // One that fails waits for its turn too: otherwise the next one would post before an earlier one. What is
    // not its turn is not even looked at: thousands may be in flight.
    if (state_ != State::data && !may_post) {
        return;
    }
    if (!requests_.test(channel().caller())) {
        return;
    }
    if (state_ != State::data) {
        if (state_ == State::header && !mine_.matches(theirs_)) {
            throw_disagreement();
        }
        if (local_failure_) {
            std::rethrow_exception(local_failure_);
        }
        post_data();
    }
    if (requests_.test(channel().caller())) {
        if (!sends()) {
            unload(tensor_, travelling_);
        }
        mark_finished();
    }
}

void Message::post_data() {
    state_ = State::data;
    const auto bytes = static_cast<std::int64_t>(tensor_.view().bytes());
    const int tag = kFirstDataTag + tag_;
    mpi::for_each_piece(bytes, [&](std::int64_t offset, int length) {
        std::byte* const piece = travelling_.bytes() + offset;
        if (sends()) {
            mpi::check(MPI_Isend(piece, length, MPI_BYTE, peer_, tag, channel().data(), requests_.next()),
                       "MPI_Isend", channel().caller());
        } else {
            mpi::check(MPI_Irecv(piece, length, MPI_BYTE, peer_, tag, channel().data(), requests_.next()),
                       "MPI_Irecv", channel().caller());
        }
    });
    mark_posted();
}

bool Message::must_follow(const Pending& earlier) const {
    const auto* other = dynamic_cast<const Message*>(&earlier);
    return other != nullptr && other->kind_ == kind_ && other->peer_ == peer_ && other->tag_ == tag_;
}

void Message::throw_disagreement() const {
    // The sender's side first, on both ends: the same text.
    const GlobalRank own = channel().global_rank(channel().rank());
    const GlobalRank other = channel().global_rank(peer_);
    const std::array ranks = {sends() ? own : other, sends() ? other : own};
    const std::string operation =
        fmt::format("message from rank {} to rank {} with tag {}", ranks[0].value, ranks[1].value, tag_);
    const std::array signatures = {signature_of(sends() ? mine_ : theirs_, 0, operation),
                                   signature_of(sends() ? theirs_ : mine_, 1, operation)};
    mpi::Disagreement disagreement = mpi::explain(channel().group(), ranks, signatures);
    throw AgreementError(disagreement.message, std::move(disagreement.ranks));
}

std::string_view Batch::waits_for() const {
    for (const auto& message : messages_) {
        if (!message->finished()) {
            return message->waits_for();
        }
    }
    return "nothing";
}

void Batch::move_on(bool) {
    const auto finished = [](const auto& message) { return message->finished(); };
    if (!std::all_of(messages_.begin(), messages_.end(), finished)) {
        return;
    }
    for (const auto& message : messages_) {
        if (message->failure()) {
            std::rethrow_exception(message->failure());
        }
    }
    mark_finished();
}

}  // namespace plumb::comm
