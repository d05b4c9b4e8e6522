#include "comm/movement.h"

#include <algorithm>
#include <numeric>

#include <plumb/mpi/counts.h>

#include "collectives/world.h"

namespace plumb {
namespace {

using comm::Block;
using comm::ConstBlock;
using comm::Lane;
using test::Bytes;
using test::World;

/// Limits below, at and above the sizes that are sent; the last one is what an int holds.
constexpr std::int64_t kLimits[] = {1, 4, 5, 7, 35, 2147483647};

/// `count` bytes that tell sender, receiver and place.
Bytes message(int from, int to, std::int64_t count) {
    Bytes bytes;
    for (std::int64_t i = 0; i < count; ++i) {
        bytes.push_back(static_cast<std::byte>(from * 67 + to * 29 + i * 3 + 1));
    }
    return bytes;
}

constexpr std::byte kNothing{0xEE};

std::size_t at(std::int64_t place) {
    return static_cast<std::size_t>(place);
}

/// Calls `move(world, limit)` under every limit.
template <class Move>
void under_all_limits(Move&& move) {
    const World world;
    for (const std::int64_t limit : kLimits) {
        const test::CountLimit lowered(limit);
        INFO("limit ", limit);
        move(world, *world.group.channel());
    }
}

template <class Post>
void run(const mpi::Channel& channel, Post&& post) {
    mpi::RequestSet requests;
    post(requests);
    requests.wait(channel.caller());
}

TEST_CASE("movement: all_gather of equal blocks") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        for (const std::int64_t bytes : {0, 1, 5, 12}) {
            const Bytes sent = message(world.rank, 0, bytes);
            Bytes received(at(bytes * world.size), kNothing);
            run(channel, [&](auto& requests) {
                comm::post_all_gather(channel, sent.data(), received.data(), bytes, requests);
            });
            std::vector<Bytes> parts;
            for (int r = 0; r < world.size; ++r) {
                parts.push_back(message(r, 0, bytes));
            }
            CHECK(received == test::joined(parts));
        }
    });
}

TEST_CASE("movement: all_gather of blocks of any size") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        std::vector<std::int64_t> sizes;
        std::vector<Bytes> parts;
        for (int r = 0; r < world.size; ++r) {
            sizes.push_back((r * 7 + 3) % 11 * (r != 1));  // rank 1 has nothing
            parts.push_back(message(r, 0, sizes.back()));
        }
        const Bytes wanted = test::joined(parts);
        Bytes received(wanted.size(), kNothing);
        const Bytes sent = parts[at(world.rank)];
        run(channel, [&](auto& requests) {
            comm::post_all_gather(channel, sent.data(), received.data(), sizes, requests);
        });
        CHECK(received == wanted);
    });
}

TEST_CASE("movement: broadcast") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        for (const std::int64_t bytes : {0, 1, 5, 12}) {
            for (int root = 0; root < world.size; ++root) {
                Bytes data = message(world.rank, 0, bytes);
                run(channel, [&](auto& requests) {
                    comm::post_broadcast(channel, data.data(), bytes, root, requests);
                });
                CHECK(data == message(root, 0, bytes));
            }
        }
    });
}

TEST_CASE("movement: gather") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        for (const std::int64_t bytes : {0, 1, 5, 12}) {
            for (int root = 0; root < world.size; ++root) {
                std::vector<Bytes> received(at(world.size), Bytes(at(bytes), kNothing));
                std::vector<std::byte*> places;
                for (Bytes& each : received) {
                    places.push_back(each.data());
                }
                const Bytes sent = message(world.rank, root, bytes);
                run(channel, [&](auto& requests) {
                    comm::post_gather(channel, sent.data(), places, bytes, root, requests);
                });
                for (int r = 0; r < world.size; ++r) {
                    const bool arrives = world.rank == root && r != root;
                    CHECK(received[at(r)] ==
                          (arrives ? message(r, root, bytes) : Bytes(at(bytes), kNothing)));
                }
            }
        }
    });
}

TEST_CASE("movement: scatter") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        for (const std::int64_t bytes : {0, 1, 5, 12}) {
            for (int root = 0; root < world.size; ++root) {
                std::vector<Bytes> sent;
                std::vector<const std::byte*> places;
                for (int r = 0; r < world.size; ++r) {
                    sent.push_back(message(root, r, bytes));
                }
                for (const Bytes& each : sent) {
                    places.push_back(each.data());
                }
                Bytes received(at(bytes), kNothing);
                run(channel, [&](auto& requests) {
                    comm::post_scatter(channel, places, received.data(), bytes, root, requests);
                });
                CHECK(received ==
                      (world.rank == root ? Bytes(at(bytes), kNothing) : message(root, world.rank, bytes)));
            }
        }
    });
}

TEST_CASE("movement: all_to_all of equal blocks at any offsets") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        for (const std::int64_t bytes : {0, 1, 5, 12}) {
            // Sent blocks lie in reverse order, received ones two bytes apart.
            std::vector<std::int64_t> sends;
            std::vector<std::int64_t> receives;
            Bytes sent(at(bytes * world.size), kNothing);
            Bytes wanted(at((bytes + 2) * world.size), kNothing);
            Bytes received = wanted;
            for (int r = 0; r < world.size; ++r) {
                sends.push_back((world.last - r) * bytes);
                receives.push_back(r * (bytes + 2));
                std::ranges::copy(message(world.rank, r, bytes), sent.begin() + sends.back());
                if (r != world.rank) {
                    std::ranges::copy(message(r, world.rank, bytes), wanted.begin() + receives.back());
                }
            }
            std::vector<int> scratch(at(4 * world.size));
            run(channel, [&](auto& requests) {
                comm::post_all_to_all(channel, sent.data(), sends, received.data(), receives, bytes, scratch,
                                      requests);
            });
            CHECK(received == wanted);
        }
    });
}

TEST_CASE("movement: exchange of blocks of any size") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        const auto bytes = [](int from, int to) { return std::int64_t{(from * 5 + to * 3) % 13}; };
        std::vector<Bytes> sent;
        std::vector<Bytes> received;
        for (int r = 0; r < world.size; ++r) {
            sent.push_back(message(world.rank, r, bytes(world.rank, r)));
            received.emplace_back(at(bytes(r, world.rank)), kNothing);
        }
        std::vector<ConstBlock> sends;
        std::vector<Block> receives;
        for (int r = 0; r < world.size; ++r) {
            sends.push_back({sent[at(r)].data(), bytes(world.rank, r)});
            receives.push_back({received[at(r)].data(), bytes(r, world.rank)});
        }
        run(channel, [&](auto& requests) { comm::post_exchange(channel, sends, receives, requests); });
        for (int r = 0; r < world.size; ++r) {
            CHECK(received[at(r)] == (r == world.rank ? Bytes(received[at(r)].size(), kNothing)
                                                      : message(r, world.rank, bytes(r, world.rank))));
        }
    });
}

TEST_CASE("movement: lanes keep two messages of one pair apart") {
    under_all_limits([](const World& world, const mpi::Channel& channel) {
        const int next = (world.rank + 1) % world.size;
        const int previous = (world.rank + world.last) % world.size;
        const Bytes leftward = message(world.rank, 1, 9);
        const Bytes rightward = message(world.rank, 2, 9);
        Bytes from_right(9, kNothing);
        Bytes from_left(9, kNothing);
        run(channel, [&](auto& requests) {
            comm::post_receive(channel, next, {from_right.data(), 9}, Lane::leftward, requests);
            comm::post_receive(channel, previous, {from_left.data(), 9}, Lane::rightward, requests);
            comm::post_send(channel, next, {rightward.data(), 9}, Lane::rightward, requests);
            comm::post_send(channel, previous, {leftward.data(), 9}, Lane::leftward, requests);
        });
        CHECK(from_right == message(next, 1, 9));
        CHECK(from_left == message(previous, 2, 9));
    });
}

}  // namespace
}  // namespace plumb
