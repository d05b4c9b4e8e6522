#include <plumb/comm/send_recv.h>

#include <algorithm>

#include "collectives/world.h"

namespace plumb {
namespace {

using test::numbers;
using test::Sample;
using test::World;

std::vector<std::int32_t> values(const Tensor& tensor) {
    return tensor.to_vector<std::int32_t>();
}

/// Every rank sends to the next one and receives from the one before; the group may be one rank.
void check_ring(const World& world) {
    const int next = (world.rank + 1) % world.size;
    const int previous = (world.rank + world.size - 1) % world.size;
    test::for_each_sample([&](const Shape& shape, DType dtype, int number) {
        const auto sent_by = [&](int r) { return Sample(test::source_layout(shape, number + r), dtype, r); };
        const Sample input = sent_by(world.rank);
        const Sample output(test::target_layout(shape, number), dtype, 99);
        INFO(to_string(shape), " ", std::string(name(dtype)), " ", input.layout().name, " into ",
             output.layout().name);
        const Tensor given = output.tensor();
        auto received = recv_async(given, GroupRank(previous), world.group, Tag(number));
        CHECK(send(input.tensor(), GlobalRank(next), world.group, Tag(number)) == Completion::done);
        CHECK(received.wait().bytes() == given.bytes());
        CHECK(output.holds(sent_by(previous).bytes()));

        const Sample again(test::target_layout(shape, number + 1), dtype, 98);
        const std::vector<P2POp> batch = {{P2PKind::send, input.tensor(), GroupRank(next)},
                                          {P2PKind::recv, again.tensor(), GroupRank(previous)}};
        CHECK(batch_send_recv(batch, world.group) == Completion::done);
        CHECK(again.holds(sent_by(previous).bytes()));
        CHECK(input.untouched());
    });
}

TEST_CASE("send and recv: around a ring") {
    check_ring(World());
    check_ring(World(CheckLevel::local));
    check_ring(World(CheckLevel::off));
}

TEST_CASE("send and recv: in pieces") {
    const test::CountLimit lowered(5);
    check_ring(World());
    check_ring(World(CheckLevel::local));
}

TEST_CASE("send and recv: messages with one tag keep their order, other tags do not wait for them") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local}) {
        const World world(level);
        if (world.size == 1) {
            continue;
        }
        if (world.rank == 0) {
            auto first = send_async(numbers({2}, 10), GroupRank(1), world.group, Tag(7));
            auto second = send_async(numbers({2}, 20), GroupRank(1), world.group, Tag(7));
            auto other = send_async(numbers({2}, 30), GroupRank(1), world.group, Tag(kMaxTag));
            other.wait();
            second.wait();
            first.wait();
        } else if (world.rank == 1) {
            const Tensor tensor = numbers({2}, 0);
            CHECK(values(recv(tensor, GroupRank(0), world.group, Tag(kMaxTag)))[0] == 30);
            CHECK(values(recv(tensor, GroupRank(0), world.group, Tag(7)))[0] == 10);
            CHECK(values(recv(tensor, GroupRank(0), world.group, Tag(7)))[0] == 20);
        }
    }
}

TEST_CASE("send and recv: a message between two does not wait for a collective of all") {
    const World world;
    if (world.size == 1) {
        return;
    }
    auto collective = all_gather_async(numbers({}, world.rank), world.group);
    if (world.rank == 0) {
        send(numbers({2}, 5), GroupRank(1), world.group);
    } else if (world.rank == 1) {
        CHECK(values(recv(numbers({2}, 0), GroupRank(0), world.group))[1] == 6);
    }
    CHECK(values(collective.wait()).back() == world.last);
}

TEST_CASE("send and recv: to oneself") {
    const World world;
    const Tensor target = numbers({2, 2}, 0);
    auto received = recv_async(target.transpose(0, 1), GroupRank(world.rank), world.group);
    send(numbers({2, 2}, 10), GroupRank(world.rank), world.group);
    received.wait();
    CHECK(values(target) == std::vector<std::int32_t>{10, 12, 11, 13});

    auto alone = send_async(numbers({1}, 4), GroupRank(world.rank), world.group);
    CHECK_THROWS_AS(alone.wait(Seconds(0.02)), TimeoutError);
    CHECK(values(recv(numbers({1}, 0), GroupRank(world.rank), world.group)) == std::vector<std::int32_t>{4});
    CHECK(alone.wait() == Completion::done);
}

TEST_CASE("batch_send_recv: everything to everybody at once, in any order") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::off}) {
        const World world(level);
        std::vector<P2POp> batch;
        std::vector<Tensor> received;
        for (int tag = 0; tag < 3; ++tag) {
            for (int r = 0; r < world.size; ++r) {
                const int first = 1000 * world.rank + 100 * r + 10 * tag;
                received.push_back(numbers({3}, 0));
                batch.push_back({P2PKind::send, numbers({3}, first), GroupRank(r), Tag(tag)});
                batch.push_back({P2PKind::recv, received.back(), GroupRank(r), Tag(tag)});
            }
        }
        // Messages with the same peer and tag are one each way: their order in the list is free.
        std::rotate(batch.begin(), batch.begin() + 2 * world.rank + 1, batch.end());
        CHECK(batch_send_recv(batch, world.group) == Completion::done);
        for (int tag = 0; tag < 3; ++tag) {
            for (int r = 0; r < world.size; ++r) {
                CHECK(values(received[static_cast<std::size_t>(tag * world.size + r)]) ==
                      values(numbers({3}, 1000 * r + 100 * world.rank + 10 * tag)));
            }
        }
        CHECK(batch_send_recv({}, world.group) == Completion::done);
    }
}

/// Rank 0 sends `sent` to rank 1, which receives into `target`: both throw the same, and the next message
/// arrives. Other ranks look on.
void check_pair_error(const World& world, const Tensor& sent, const Tensor& target,
                      std::initializer_list<std::string_view> parts) {
    if (world.size == 1) {
        return;
    }
    std::string text;
    try {
        if (world.rank == 0) {
            send(sent, GroupRank(1), world.group, Tag(3));
        } else if (world.rank == 1) {
            recv(target, GroupRank(0), world.group, Tag(3));
        }
    } catch (const AgreementError& error) {
        text = error.what();
        CHECK_FALSE(error.ranks().empty());
    }
    const auto texts = test::gather_texts(text);
    CHECK(texts[0] == texts[1]);
    for (const std::string_view part : parts) {
        CHECK_MESSAGE(texts[0].find(part) != std::string::npos,
                      "'" << std::string(part) << "' is not in: " << texts[0]);
    }
    if (world.rank == 0) {
        send(numbers({2}, 8), GroupRank(1), world.group, Tag(3));
    } else if (world.rank == 1) {
        CHECK(values(recv(numbers({2}, 0), GroupRank(0), world.group, Tag(3)))[0] == 8);
    }
}

TEST_CASE("send and recv: both ends throw the same") {
    const World world;
    const Tensor target = numbers({2, 3}, 50);
    const std::string_view who = "message from rank 0 to rank 1 with tag 3 on group 'global' (ranks 0,1)";
    check_pair_error(world, numbers({3, 2}, 0), target,
                     {who, "tensor shape is [3, 2] on rank 0, [2, 3] on rank 1"});
    check_pair_error(world, numbers({6}, 0), target, {who, "tensor shape is [6] on rank 0"});
    check_pair_error(world, Tensor::zeros({2, 3}, DType::f32), target,
                     {who, "tensor dtype is float32 on rank 0, int32 on rank 1"});
    check_pair_error(world, Tensor(), target, {who, "rank 0: tensor is an undefined tensor"});
    check_pair_error(world, numbers({2, 3}, 0), Tensor(), {who, "rank 1: tensor is an undefined tensor"});
    check_pair_error(world, Tensor(), Tensor(), {who, "ranks 0,1: tensor is an undefined tensor"});
    check_pair_error(world, numbers({2, 3}, 0), numbers({1, 3}, 0).expand({2, 3}),
                     {who, "rank 1: tensor overlaps itself"});
    CHECK(values(target) == values(numbers({2, 3}, 50)));
}

TEST_CASE("send and recv: messages that fail between those that do not, all with one tag") {
    const World world;
    if (world.size == 1 || world.rank > 1) {
        return;
    }
    const bool sends = world.rank == 0;
    for (int round = 0; round < 50; ++round) {
        std::vector<P2POp> batch;
        for (int i = 0; i < 8; ++i) {
            const int extent = i % 2 == 1 && sends ? 3 : 2;
            const Tensor tensor = sends ? numbers({extent}, 10 * i) : Tensor::zeros({extent}, DType::i32);
            batch.push_back({sends ? P2PKind::send : P2PKind::recv, tensor, GroupRank(sends ? 1 : 0)});
        }
        CHECK_THROWS_AS(batch_send_recv(batch, world.group), AgreementError);
        for (int i = 0; i < 8 && !sends; ++i) {
            const std::vector<std::int32_t> arrived = {10 * i, 10 * i + 1};
            CHECK(values(batch[static_cast<std::size_t>(i)].tensor) ==
                  (i % 2 == 0 ? arrived : std::vector<std::int32_t>{0, 0}));
        }
    }
}

TEST_CASE("batch_send_recv: tensors that overlap") {
    const World world;
    const Tensor tensor = numbers({4}, 0);
    const std::vector<P2POp> batch = {{P2PKind::send, numbers({2}, 7), GroupRank(world.rank), Tag(0)},
                                      {P2PKind::send, tensor.narrow(0, 1, 2), GroupRank(world.rank), Tag(1)},
                                      {P2PKind::recv, tensor.narrow(0, 0, 2), GroupRank(world.rank), Tag(0)},
                                      {P2PKind::recv, numbers({2}, 0), GroupRank(world.rank), Tag(1)}};
    std::string text;
    try {
        batch_send_recv(batch, world.group);
    } catch (const AgreementError& error) {
        text = error.what();
    }
    CHECK_MESSAGE(text.find("tensor of messages[2] overlaps that of messages[1]") != std::string::npos, text);
    CHECK(values(batch[3].tensor) == std::vector<std::int32_t>{1, 2});
    CHECK(values(tensor) == std::vector<std::int32_t>{0, 1, 2, 3});
}

template <class F>
std::string local_error(F&& call) {
    try {
        call();
    } catch (const AgreementError& error) {
        return std::string("agreed: ") + error.what();
    } catch (const ArgumentError& error) {
        return error.what();
    }
    return "none";
}

TEST_CASE("send and recv: where there is no one to tell, this rank alone throws") {
    const World world;
    const Tensor tensor = numbers({2}, 0);
    const std::string ranks = "0 … " + std::to_string(world.last);
    CHECK(local_error([&] { send(tensor, GroupRank(world.size), world.group); }) ==
          "dst is group rank " + std::to_string(world.size) + ", allowed is " + ranks);
    CHECK(local_error([&] { recv(tensor, GroupRank(-1), world.group); }) ==
          "src is group rank -1, allowed is " + ranks);
    CHECK(local_error([&] { (void)send_async(tensor, GroupRank(0), world.group, Tag(-1)); }) ==
          "tag is -1, allowed is 0 … 16383");
    CHECK(local_error([&] { (void)recv_async(tensor, GroupRank(0), world.group, Tag(kMaxTag + 1)); }) ==
          "tag is 16384, allowed is 0 … 16383");
    CHECK(local_error([&] {
              batch_send_recv({{P2PKind::send, tensor, GroupRank(0)}, {P2PKind::recv, tensor, GroupRank(99)}},
                              world.group);
          }) == "peer of messages[1] is group rank 99, allowed is " + ranks);
    // The batch's first message was not started: this send meets this recv.
    auto received = recv_async(tensor, GroupRank(world.rank), world.group);
    send(numbers({2}, 3), GroupRank(world.rank), world.group);
    CHECK(values(received.wait()) == std::vector<std::int32_t>{3, 4});

    const World unchecked(CheckLevel::local);
    CHECK(local_error([&] { send(Tensor(), GroupRank(0), unchecked.group); }) ==
          "tensor is an undefined tensor");
}

Async<Completion> start_ring(const Group& group, const Tensor& target) {
    const int next = (group.rank().value + 1) % group.size();
    const int previous = (group.rank().value + group.size() - 1) % group.size();
    return batch_send_recv_async({{P2PKind::recv, target, GroupRank(previous)},
                                  {P2PKind::send, numbers({3}, 10 * group.rank().value), GroupRank(next)}},
                                 group);
}

/// A handle with the batch's completion and the tensor that was received, as a collective would give it.
class Ring {
  public:
    explicit Ring(const Group& group) : handle_(start_ring(group, target_)) {}
    bool test() { return handle_.test(); }
    [[nodiscard]] AsyncState state() const { return handle_.state(); }
    Tensor wait() { return handle_.wait() == Completion::done ? target_ : Tensor(); }
    Tensor wait(Seconds timeout) { return handle_.wait(timeout) == Completion::done ? target_ : Tensor(); }

  private:
    Tensor target_ = Tensor::zeros({3}, DType::i32);
    Async<Completion> handle_;
};

TEST_CASE("batch_send_recv: async") {
    const auto start = [](const Group& group) { return Ring(group); };
    const auto check = [](const Group& group, const Tensor& received) {
        const int previous = (group.rank().value + group.size() - 1) % group.size();
        CHECK(values(received) == values(numbers({3}, 10 * previous)));
    };
    test::check_async_contract(start, check);
}

TEST_CASE("send and recv: async, one way") {
    if (test::ranks() == 1) {
        return;
    }
    // Rank 0 sends to the last rank, which receives; each is late once, and each drops a handle.
    const World world;
    for (const int first : {0, world.last}) {
        if (world.rank != first) {
            test::let_others_go(first);
        }
        auto sent = world.rank == 0 ? send_async(numbers({3}, 5), GroupRank(world.last), world.group)
                                    : Async<Completion>();
        auto received = world.rank == world.last
                            ? recv_async(Tensor::zeros({3}, DType::i32), GroupRank(0), world.group)
                            : Async<Tensor>();
        if (world.rank == first) {
            CHECK_FALSE((first == 0 ? sent.test() : received.test()));
            std::string text;
            try {
                first == 0 ? static_cast<void>(sent.wait(Seconds(0.02)))
                           : static_cast<void>(received.wait(Seconds(0.02)));
            } catch (const TimeoutError& error) {
                text = error.what();
            }
            const std::string peer = first == 0 ? "rank " + std::to_string(world.last) + " to receive (tag 0)"
                                                : "rank 0 to send (tag 0)";
            CHECK_MESSAGE(text.find("still waiting for " + peer) != std::string::npos, text);
            test::let_others_go(first);
        }
        sent.wait();
        if (world.rank == world.last) {
            CHECK(values(received.wait()) == std::vector<std::int32_t>{5, 6, 7});
        }
    }
    CommContext context = test::agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    if (world.rank == 0) {
        auto dropped = send_async(numbers({3}, 5), GroupRank(world.last), group);
    }
    Async<Tensor> kept;
    if (world.rank == world.last) {
        kept = recv_async(Tensor::zeros({3}, DType::i32), GroupRank(0), group);
    }
    test::spoil_heap();
    context.destroy();
    if (world.rank == world.last) {
        CHECK(values(kept.wait()) == std::vector<std::int32_t>{5, 6, 7});
    }
}

TEST_CASE("send and recv: outside the group") {
    const Tensor tensor = numbers({2}, 1);
    CHECK(test::result_outside_group([&](const Group& group) {
              return send_async(tensor, GroupRank(0), group);
          }) == Completion::not_in_group);
    CHECK_FALSE(test::result_outside_group([&](const Group& group) {
                    return recv_async(tensor, GroupRank(0), group);
                }).defined());
    CHECK(test::result_outside_group([&](const Group& group) {
              return batch_send_recv_async({{P2PKind::send, tensor, GroupRank(0)}}, group);
          }) == Completion::not_in_group);
    CHECK(values(tensor) == std::vector<std::int32_t>{1, 2});
}

}  // namespace
}  // namespace plumb
