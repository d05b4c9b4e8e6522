#include <plumb/comm/send_recv.h>

#include <memory>

#include <fmt/format.h>

#include "comm/launch.h"
#include "comm/message.h"

namespace plumb {

namespace {

/// Two tensors of a batch of which one is written must not share memory; the message that writes fails.
void find_overlaps(const std::vector<P2POp>& ops, std::vector<std::shared_ptr<comm::Message>>& messages) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind != P2PKind::recv || !ops[i].tensor.defined()) {
            continue;
        }
        for (std::size_t k = 0; k < ops.size(); ++k) {
            if (k != i && ops[k].tensor.defined() && overlap(ops[i].tensor.view(), ops[k].tensor.view())) {
                messages[i]->fail(fmt::format(
                    "tensor of messages[{}] overlaps that of messages[{}]: they share memory", i, k));
                break;
            }
        }
    }
}

}  // namespace

Async<Completion> send_async(const Tensor& tensor, Root dst, GroupRef group, Tag tag) {
    if (!group->is_member()) {
        return {};
    }
    const P2POp op{P2PKind::send, tensor, dst, tag};
    return comm::launch<Completion>(*group, std::make_shared<comm::Send>(*group->channel(), op, "dst"));
}

Async<Tensor> recv_async(const Tensor& tensor, Root src, GroupRef group, Tag tag) {
    if (!group->is_member()) {
        return {};
    }
    const P2POp op{P2PKind::recv, tensor, src, tag};
    return comm::launch<Tensor>(*group, std::make_shared<comm::Receive>(*group->channel(), op, "src"));
}

Async<Completion> batch_send_recv_async(const std::vector<P2POp>& messages, GroupRef group) {
    if (!group->is_member()) {
        return {};
    }
    std::vector<std::shared_ptr<comm::Message>> pending;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        pending.push_back(std::make_shared<comm::Message>(*group->channel(), messages[i],
                                                          fmt::format("peer of messages[{}]", i)));
    }
    if (group->check_level() != CheckLevel::off) {
        find_overlaps(messages, pending);
    }
    for (const auto& message : pending) {
        mpi::submit(group->channel(), message);
    }
    return comm::launch<Completion>(*group, std::make_shared<comm::Batch>(std::move(pending)));
}

Completion send(const Tensor& tensor, Root dst, GroupRef group, Tag tag) {
    return send_async(tensor, dst, group, tag).wait();
}

Tensor recv(const Tensor& tensor, Root src, GroupRef group, Tag tag) {
    return recv_async(tensor, src, group, tag).wait();
}

Completion batch_send_recv(const std::vector<P2POp>& messages, GroupRef group) {
    return batch_send_recv_async(messages, group).wait();
}

}  // namespace plumb
