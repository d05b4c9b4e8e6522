#include <plumb/comm/object_list.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <plumb/comm/object_json.h>

#include "collectives/world.h"

namespace test_types {

/// A user's type; it cannot be copied, and some of its values can neither be sent nor received.
struct Point {
    int x = 0;
    int y = 0;
    explicit Point(int first = 0, int second = 0) : x(first), y(second) {}
    Point(Point&&) = default;
    Point& operator=(Point&&) = default;
    Point(const Point&) = delete;
    Point& operator=(const Point&) = delete;
    ~Point() = default;
};

}  // namespace test_types

template <>
struct plumb::ObjectBytes<test_types::Point> {
    static std::array<char, 2> to_bytes(const test_types::Point& point) {
        if (point.x == 66) {
            throw std::runtime_error("no point with x = 66 can be sent");
        }
        return {static_cast<char>(point.x), static_cast<char>(point.y)};
    }
    static test_types::Point from_bytes(std::span<const std::byte> bytes) {
        test_types::Point point(std::to_integer<int>(bytes[0]), std::to_integer<int>(bytes[1]));
        if (point.y == 77 && plumb::test::rank() == plumb::test::ranks() - 1) {
            throw std::runtime_error("no point with y = 77 can be received here");
        }
        return point;
    }
};

namespace plumb {
namespace {

using test::World;
using test_types::Point;

std::string text_of(int rank, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) {
        text.push_back(static_cast<char>(static_cast<std::size_t>(rank) * 31 + i * 7));
    }
    return text;
}

void check_strings(const World& world) {
    for (int src = 0; src < world.size; ++src) {
        const auto of = [](int rank) {
            return std::vector<std::string>{text_of(rank, 5), "", text_of(rank + 1, 1000),
                                            std::string(3, '\0')};
        };
        auto objects = of(world.rank);
        CHECK(broadcast_object_list(objects, GroupRank(src), world.group) == Completion::done);
        CHECK(objects == of(src));
    }
}

TEST_CASE("broadcast_object_list: strings") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        check_strings(World(level));
    }
    for (const std::int64_t limit : {1, 5, 100}) {
        const test::CountLimit lowered(limit);
        check_strings(World());
    }
}

template <class Byte>
void check_bytes(const World& world) {
    std::vector<std::vector<Byte>> objects(3);
    if (world.rank == world.last) {
        objects = {{Byte{0}, Byte{255}}, {}, {Byte{7}}};
    }
    broadcast_object_list(objects, GlobalRank(world.last), world.group);
    CHECK(objects == std::vector<std::vector<Byte>>{{Byte{0}, Byte{255}}, {}, {Byte{7}}});
}

TEST_CASE("broadcast_object_list: byte vectors, of both kinds at once") {
    const World world;
    check_bytes<std::byte>(world);
    check_bytes<std::uint8_t>(world);
    if (world.rank % 2 == 0) {
        check_bytes<std::byte>(world);
    } else {
        check_bytes<std::uint8_t>(world);
    }
}

TEST_CASE("broadcast_object_list: JSON") {
    const World world;
    using nlohmann::json;
    const std::vector<json> values = {nullptr,
                                      true,
                                      0,
                                      -1,
                                      std::numeric_limits<std::int64_t>::min(),
                                      std::numeric_limits<std::uint64_t>::max(),
                                      0.1,
                                      -0.0,
                                      std::numeric_limits<double>::infinity(),
                                      "é\n",
                                      json::array(),
                                      json::object(),
                                      json::binary({0, 255, 3}),
                                      json::binary({1}, 42),
                                      {{"a", {1, 2.5, {{"b", nullptr}}}}, {"", "empty key"}}};
    std::vector<json> objects(values.size() + 1);
    if (world.rank == 0) {
        objects = values;
        objects.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    broadcast_object_list(objects, GroupRank(0), world.group);
    REQUIRE(objects.size() == values.size() + 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
        CHECK(objects[i] == values[i]);
        CHECK(objects[i].type_name() == std::string(values[i].type_name()));
    }
    CHECK(std::signbit(objects[7].get<double>()));
    CHECK(std::isnan(objects.back().get<double>()));

    std::vector<nlohmann::ordered_json> ordered(1);
    if (world.rank == 0) {
        ordered[0]["z"] = 1;
        ordered[0]["a"] = 2;
    }
    broadcast_object_list(ordered, GroupRank(0), world.group);
    CHECK(ordered[0].dump() == R"({"z":1,"a":2})");
}

TEST_CASE("broadcast_object_list: an empty list") {
    const World world;
    std::vector<std::string> objects;
    CHECK(broadcast_object_list(objects, GroupRank(0), world.group) == Completion::done);
    CHECK(objects.empty());
}

std::vector<Point> points(int first) {
    std::vector<Point> result;
    result.emplace_back(first, 1);
    result.emplace_back(first + 1, 2);
    return result;
}

TEST_CASE("broadcast_object_list: a user's type that cannot be copied") {
    const World world;
    auto objects = points(10 * (world.rank + 1));
    broadcast_object_list(objects, GroupRank(world.last), world.group);
    REQUIRE(objects.size() == 2);
    CHECK(objects[0].x == 10 * world.size);
    CHECK(objects[1].x == 10 * world.size + 1);
    CHECK(objects[1].y == 2);
}

TEST_CASE("broadcast_object_list: errors, agreed at every level") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const World world(level);
        const bool deviates = world.rank == world.last;
        const std::string who = "rank " + std::to_string(world.last);
        auto objects = points(world.rank);
        if (world.size > 1) {
            std::vector<std::string> texts(deviates ? 3 : 2, "before");
            world.rejects({"broadcast_object_list", "number of objects is 2 on", "3 on " + who},
                          [&] { broadcast_object_list(texts, GroupRank(0), world.group); });
            CHECK(texts == std::vector<std::string>(deviates ? 3 : 2, "before"));
            world.rejects({"src is 0 on", "1 on " + who}, [&] {
                // With two ranks the last one takes itself for the source, and has something to say.
                broadcast_object_list(objects, GroupRank(deviates ? 1 : 0), world.group);
            });
            std::vector<nlohmann::json> values(2);
            world.rejects({"type of objects", "json on " + who, "object on"}, [&] {
                if (deviates) {
                    broadcast_object_list(values, GroupRank(0), world.group);
                } else {
                    broadcast_object_list(objects, GroupRank(0), world.group);
                }
            });
        }
        world.rejects({who + ": src is group rank 9"},
                      [&] { broadcast_object_list(objects, GroupRank(deviates ? 9 : 0), world.group); });
        CHECK(objects[0].x == world.rank);
        objects[1].x = 66;
        world.rejects({who + ": no point with x = 66 can be sent"},
                      [&] { broadcast_object_list(objects, GroupRank(world.last), world.group); });
        CHECK(objects[0].x == world.rank);
    }
    const World world;
    world.rejects_other_op("broadcast_object_list", [&] {
        std::vector<std::string> objects;
        broadcast_object_list(objects, GroupRank(0), world.group);
    });
}

TEST_CASE("broadcast_object_list: what cannot be made is that rank's error, and its list stays") {
    const World world;
    if (world.size == 1) {
        return;
    }
    auto objects = points(10 * world.rank);
    objects[1].y = world.rank == 0 ? 77 : 3;
    std::string error;
    try {
        broadcast_object_list(objects, GroupRank(0), world.group);
    } catch (const std::runtime_error& failure) {
        error = failure.what();
    }
    if (world.rank == world.last) {
        CHECK(error == "no point with y = 77 can be received here");
        CHECK(objects[0].x == 10 * world.rank);
        CHECK(objects[1].y == 3);
    } else {
        CHECK(error.empty());
        CHECK(objects[0].x == 0);
        CHECK(objects[1].y == 77);
    }
    check_strings(world);
}

TEST_CASE("broadcast_object_list: async") {
    const auto start = [](const Group& group) {
        std::vector<std::string> objects = {text_of(group.rank().value, 300), text_of(group.rank().value, 2)};
        return broadcast_object_list_async(objects, GroupRank(group.size() - 1), group);
    };
    const auto check = [](const Group& group, const std::vector<std::string>& objects) {
        const int src = group.size() - 1;
        CHECK(objects == std::vector<std::string>{text_of(src, 300), text_of(src, 2)});
    };
    const auto blocking = [](const Group& group) {
        std::vector<std::string> objects = {text_of(group.rank().value, 300), text_of(group.rank().value, 2)};
        broadcast_object_list(objects, GroupRank(group.size() - 1), group);
        return objects;
    };
    const auto wrong = [](const Group& group) {
        return broadcast_object_list_async(std::vector<std::string>(1), GroupRank(-1), group);
    };
    test::check_async_contract(start, check);
    test::check_blocking_meets_async(blocking, start, check);
    test::check_async_error(wrong, start, check);
}

TEST_CASE("broadcast_object_list: outside the group") {
    const auto outside = [](const Group& group) {
        return broadcast_object_list_async(std::vector<std::string>{"a"}, GroupRank(0), group);
    };
    CHECK(test::result_outside_group(outside).empty());
    const Group none;
    std::vector<std::string> objects = {"a"};
    CHECK(broadcast_object_list(objects, GroupRank(0), none) == Completion::not_in_group);
    CHECK(objects == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace plumb
