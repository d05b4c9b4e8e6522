#pragma once

#include <vector>

#include <plumb/comm/async.h>
#include <plumb/comm/root.h>
#include <plumb/context/comm_context.h>
#include <plumb/tensor/tensor.h>

namespace plumb {

/// Tells messages between the same two ranks apart: 0 … kMaxTag.
struct Tag {
    int value = 0;
    constexpr explicit Tag(int v) : value(v) {}
    auto operator<=>(const Tag&) const = default;
};
inline constexpr int kMaxTag = 16383;  ///< what every MPI can do (MPI_TAG_UB is at least 32767)

/// Messages between two ranks of a group. Only these two take part. The n-th send to a rank with a tag meets
/// the n-th recv there from this rank with this tag; messages with different tags, of different pairs, or in
/// the other direction do not wait for each other.
///
/// Tensors of both ends have the same dtype and shape, host memory, any strides. What is sent is not changed;
/// what is received is written through the tensor's strides, and returned. A rank outside the group does
/// nothing.
///
/// At CheckLevel::agree each end tells the other what it has before data moves: where dtype or shape differ,
/// or one end's call is wrong by itself (an undefined tensor, a recv tensor that overlaps itself, no memory),
/// both throw the same AgreementError, which names the two, and no data moves; messages before and after
/// are not concerned. So a send is complete only when the other end has called recv: it is synchronous, and
/// two ranks that both send before they receive wait for each other: use a batch. At CheckLevel::local and
/// off nothing is compared, and what does not fit is MPI's error, or none.
///
/// Throw ArgumentError on this rank alone, from the call itself, where there is no one to tell: a peer
/// outside the group, a tag outside 0 … kMaxTag.
///
/// A send to the own rank meets a recv from it, if that is in flight already (recv_async) or comes in the
/// same batch; send() alone would wait for itself until PLUMB_TIMEOUT.
///
/// Adjoint of a message: the gradient's message in the other direction.
Completion send(const Tensor& tensor, Root dst, GroupRef group, Tag tag = Tag(0));
Tensor recv(const Tensor& tensor, Root src, GroupRef group, Tag tag = Tag(0));

Async<Completion> send_async(const Tensor& tensor, Root dst, GroupRef group, Tag tag = Tag(0));
Async<Tensor> recv_async(const Tensor& tensor, Root src, GroupRef group, Tag tag = Tag(0));

enum class P2PKind { send, recv };

/// One message of a batch, seen from this rank.
struct P2POp {
    P2PKind kind;
    Tensor tensor;
    Root peer;
    Tag tag = Tag(0);
};

/// Starts all messages in the order of the list, then waits for all: no order of sends and receives can
/// block. The other ends may be batches or single calls. A recv tensor that overlaps another tensor of the
/// batch is an error of its message, which both ends throw.
///
/// Throws, when all messages have finished, what the first failed one of the list failed with; the others'
/// data is there. ArgumentError for a peer or tag as above: then no message was started. An empty batch is
/// legal.
Completion batch_send_recv(const std::vector<P2POp>& messages, GroupRef group);
Async<Completion> batch_send_recv_async(const std::vector<P2POp>& messages, GroupRef group);

}  // namespace plumb
