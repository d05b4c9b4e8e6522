#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <plumb/comm/all_reduce_dict.h>

#include "reductions/calls.h"
#include "support/async_contract.h"

using namespace plumb;
using namespace plumb::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// rank -> 1, 2, 3, … times `unit`, summed: unit * n(n+1)/2.
double sum_of_ranks(double unit) {
    return unit * ranks() * (ranks() + 1) / 2;
}

Dict some_values() {
    return {{"loss", 0.5 * (rank() + 1)}, {"accuracy", 10.0 * (rank() + 1)}, {"größe", -1.0 * (rank() + 1)}};
}

void check_some(const Dict& result) {
    CHECK(result ==
          Dict{{"loss", sum_of_ranks(0.5)}, {"accuracy", sum_of_ranks(10)}, {"größe", sum_of_ranks(-1)}});
}

/// The one value of a dict with one key.
double reduce_one(double value, const Group& group, ReduceOp op, DType dtype) {
    const Dict result = all_reduce_dict({{"x", value}}, group, op, dtype);
    REQUIRE(result.size() == 1);
    return result.at("x");
}

}  // namespace

TEST_CASE("all_reduce_dict: sums under sorted keys") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Dict values = some_values();
    check_some(all_reduce_dict(values, group));
    CHECK(values == some_values());
    for (const KeyMatch match : {KeyMatch::strict, KeyMatch::by_position})
        check_some(all_reduce_dict(values, group, ReduceOp::sum, DType::f64, match));
    // By code point, not by language: U+007A z < U+00E4 ä < U+FF5E ~ < U+1F600.
    std::string order;
    for (const auto& [key, value] :
         Dict{{"\U0001F600", 0}, {"\uFF5E", 1}, {"ä", 2}, {"z", 3}, {"Z", 4}, {"", 5}})
        order += std::to_string(static_cast<int>(value));
    CHECK(order == "543210");
}

TEST_CASE("all_reduce_dict: empty dicts") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const KeyMatch match : {KeyMatch::strict, KeyMatch::by_position})
        CHECK(all_reduce_dict({}, group, ReduceOp::sum, DType::f32, match).empty());
    check_some(all_reduce_dict(some_values(), group));
}

TEST_CASE("all_reduce_dict: many keys, on every path") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const Path& path : kPaths) {
        const OnPath on(path);
        CAPTURE(path.name);
        Dict values;
        Dict wanted;
        for (int i = 0; i < 501; ++i) {
            const std::string key = "key" + std::to_string(i);
            values[key] = i * (rank() + 1);
            wanted[key] = sum_of_ranks(i);
        }
        for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64})
            CHECK((all_reduce_dict(values, group, ReduceOp::sum, dtype) == wanted));
    }
}

TEST_CASE("all_reduce_dict: reduced in the dtype, by default f32") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const bool first = rank() == 0;
    // 2^24 + 1 is no f32; 0.1 is none either.
    CHECK(all_reduce_dict({{"x", first ? 16777217.0 : 0.0}}, group).at("x") == 16777216);
    CHECK(all_reduce_dict({{"x", first ? 0.1 : 0.0}}, group).at("x") == static_cast<double>(0.1F));
    CHECK(reduce_one(first ? 0.1 : 0, group, ReduceOp::sum, DType::f64) == 0.1);
    CHECK(reduce_one(first ? 0.1 : 0, group, ReduceOp::sum, DType::f16) == 0.0999755859375);
    CHECK(reduce_one(first ? 0.1 : 0, group, ReduceOp::sum, DType::bf16) == 0.10009765625);
    CHECK(reduce_one(first ? 0.1 : 0, group, ReduceOp::sum, DType::f8_e4m3fn) == 0.1015625);
    CHECK(reduce_one(first ? 0.1 : 0, group, ReduceOp::sum, DType::f8_e5m2) == 0.09375);
    // Rounded once: just above a tie of f16, on the tie itself in f32.
    CHECK(reduce_one(first ? 1 + 0x1p-11 + 0x1p-40 : 0, group, ReduceOp::sum, DType::f16) == 1 + 0x1p-10);
    CHECK(reduce_one(first ? 1 + 0x1p-11 : 0, group, ReduceOp::sum, DType::f16) == 1);
    CHECK(reduce_one(first ? -1e300 : 0, group, ReduceOp::sum, DType::f32) == -kInfinity);
    CHECK(reduce_one(first ? 1e5 : 0, group, ReduceOp::sum, DType::f16) == kInfinity);
    CHECK(std::isnan(reduce_one(first ? 1e5 : 0, group, ReduceOp::sum, DType::f8_e4m3fn)));
    CHECK(std::isnan(reduce_one(first ? std::nan("") : 0, group, ReduceOp::max, DType::f32)));

    CHECK(reduce_one(rank() + 0.75, group, ReduceOp::max, DType::f32) == ranks() - 0.25);
    CHECK(reduce_one(-rank() - 0.75, group, ReduceOp::min, DType::f64) == 0.25 - ranks());
    CHECK(reduce_one(2, group, ReduceOp::product, DType::f32) == std::ldexp(1, ranks()));
    CHECK(reduce_one(first ? 1 : 0, group, ReduceOp::avg, DType::f32) ==
          static_cast<double>(1.0F / static_cast<float>(ranks())));
    CHECK(reduce_one(first ? 1 : 0, group, ReduceOp::avg, DType::f64) == 1.0 / ranks());
}

TEST_CASE("all_reduce_dict: integers and bool") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const bool first = rank() == 0;
    for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
        CHECK(reduce_one(first ? -2.9 : 0.9, group, ReduceOp::sum, dtype) == -2);  // toward zero
        CHECK(reduce_one(first ? 6 : 14, group, ReduceOp::band, dtype) == 6);
    }
    CHECK(reduce_one(first ? 255.9 : 0, group, ReduceOp::sum, DType::u8) == 255);
    CHECK(reduce_one(first ? -0.9 : 0, group, ReduceOp::sum, DType::u8) == 0);
    CHECK(reduce_one(first ? -128.9 : 0, group, ReduceOp::sum, DType::i8) == -128);
    CHECK(reduce_one(first ? 2147483647.5 : 0, group, ReduceOp::sum, DType::i32) == 2147483647);
    CHECK(reduce_one(first ? -0x1p63 : 0, group, ReduceOp::sum, DType::i64) == -0x1p63);
    CHECK(reduce_one(first ? 0x1p62 : 0, group, ReduceOp::bor, DType::i64) == 0x1p62);
    CHECK(reduce_one(first ? 0.25 : 0, group, ReduceOp::bor, DType::boolean) == 1);
    CHECK(reduce_one(first ? 0 : 3, group, ReduceOp::band, DType::boolean) == 0);
    CHECK(reduce_one(-0.0, group, ReduceOp::bor, DType::boolean) == 0);
}

TEST_CASE("all_reduce_dict: by position, whatever the names") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::string own = std::to_string(rank());
    const Dict values = {{"a" + own, rank() + 1}, {"b" + own, 100 * (rank() + 1)}};
    const Dict wanted = {{"a" + own, sum_of_ranks(1)}, {"b" + own, sum_of_ranks(100)}};
    CHECK(all_reduce_dict(values, group, ReduceOp::sum, DType::f32, KeyMatch::by_position) == wanted);
}

TEST_CASE("all_reduce_dict: outside the group") {
    CHECK(all_reduce_dict(some_values(), outside_group()).empty());
    CHECK(result_outside_group([](const Group& group) {
              return all_reduce_dict_async(some_values(), group);
          }).empty());
}

TEST_CASE("all_reduce_dict: asynchronous") {
    const auto start = [](const Group& group) { return all_reduce_dict_async(some_values(), group); };
    const auto check = [](const Group&, const Dict& result) { check_some(result); };
    check_async_contract(start, check);
    check_blocking_meets_async([](const Group& group) { return all_reduce_dict(some_values(), group); },
                               start, check);
    const std::string text = check_async_error(
        [](const Group& group) {
            return all_reduce_dict_async({{"x", 1}}, group, ReduceOp::sum, DType::c64);
        },
        start, check);
    CHECK(text.find("dtype is complex64, allowed are bool, integers and floating point") !=
          std::string::npos);
}

TEST_CASE("all_reduce_dict: keys that differ") {
    if (ranks() == 1) return;
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int odd = ranks() - 1;
    const bool here = rank() == odd;
    const std::string who = "rank " + std::to_string(odd);
    const Dict good = {{"a", 1}, {"b", 2}, {"c", 3}};
    const auto wrong = [&](const Dict& values, KeyMatch match,
                           std::initializer_list<std::string_view> parts) {
        const std::string text = same_error_everywhere(
            [&] { (void)all_reduce_dict(here ? values : good, group, ReduceOp::sum, DType::f32, match); },
            parts);
        check_some(all_reduce_dict(some_values(), group));
        return text;
    };
    const std::string renamed =
        wrong({{"a", 1}, {"B", 2}, {"c", 3}}, KeyMatch::strict,
              {"key 'b' is given on", "not given on " + who, "key 'B' is not given on", ", given on " + who});
    CHECK(renamed.find("'a'") == std::string::npos);
    CHECK(renamed.find("number of keys") == std::string::npos);
    const std::string fewer = wrong({{"a", 1}, {"c", 3}}, KeyMatch::strict,
                                    {"number of keys is 3 on", "2 on " + who, "key 'b' is given on"});
    CHECK(fewer.find("'c'") == std::string::npos);
    wrong({}, KeyMatch::strict, {"number of keys is 3 on", "0 on " + who, "key 'a'", "key 'b'", "key 'c'"});
    const std::string counted =
        wrong({{"a", 1}, {"c", 3}}, KeyMatch::by_position, {"number of keys is 3 on", "2 on " + who});
    CHECK(counted.find("'b'") == std::string::npos);
    wrong({{"x", 1}}, KeyMatch::strict, {"key 'x'"});
}

TEST_CASE("all_reduce_dict: of many differing keys a handful is named") {
    if (ranks() == 1) return;
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    Dict values;
    for (int i = 0; i < 20000; ++i)
        values[(rank() == 0 && i >= 10000 ? "own" : "key") + std::to_string(i)] = i;
    const std::string text = same_error_everywhere([&] { (void)all_reduce_dict(values, group); },
                                                   {"key 'own10000' is given on rank 0, not given on"});
    CHECK_MESSAGE(text.size() < 1000, text);
    CHECK(text.find("and 19994 more differences") != std::string::npos);
    check_some(all_reduce_dict(some_values(), group));
}

TEST_CASE("all_reduce_dict: keys with unprintable characters are legible in the message") {
    if (ranks() == 1) return;
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const std::string odd("a\0b\n'\\", 6);
    const Dict values{{rank() == 0 ? odd : "plain", 1}};
    same_error_everywhere([&] { (void)all_reduce_dict(values, group); },
                          {R"(key 'a\x00b\x0a\x27\x5c' is given on rank 0, not given on)",
                           "key 'plain' is not given on rank 0, given on"});
    CHECK(all_reduce_dict({{odd, 1}}, group) == Dict{{odd, ranks()}});
}

TEST_CASE("all_reduce_dict: one rank's call is wrong") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const int odd = ranks() - 1;
    const bool here = rank() == odd;
    const std::string who = "rank " + std::to_string(odd);
    const auto wrong = [&](double value, ReduceOp op, DType dtype, KeyMatch match,
                           std::initializer_list<std::string_view> parts) {
        const Dict values = {{"other", 1}, {"x", here ? value : 1}};
        same_error_everywhere(
            [&] {
                (void)all_reduce_dict(values, group, here ? op : ReduceOp::sum, here ? dtype : DType::i32,
                                      here ? match : KeyMatch::strict);
            },
            parts);
        check_some(all_reduce_dict(some_values(), group));
    };
    const auto strict = KeyMatch::strict;
    const std::string range =
        " under key 'x', which int32 cannot represent, allowed are -2147483648 … 2147483647";
    wrong(2147483648.0, ReduceOp::sum, DType::i32, strict, {who + ": values has 2147483648" + range});
    wrong(-2147483649.0, ReduceOp::sum, DType::i32, strict, {who + ": values has -2147483649" + range});
    wrong(std::nan(""), ReduceOp::sum, DType::i32, strict, {who + ": values has nan" + range});
    wrong(kInfinity, ReduceOp::sum, DType::i32, strict, {who + ": values has inf" + range});
    wrong(0x1p63, ReduceOp::sum, DType::i64, strict,
          {who, "int64", "-9223372036854775808 … 9223372036854775807"});
    wrong(-1, ReduceOp::sum, DType::u8, strict,
          {who + ": values has -1 under key 'x', which uint8", "0 … 255"});
    wrong(128, ReduceOp::sum, DType::i8, strict, {who, "int8", "-128 … 127"});
    wrong(1, ReduceOp::avg, DType::i32, strict, {who + ": reduce is AVG, which is not defined for int32"});
    wrong(1, ReduceOp::sum, DType::boolean, strict, {who + ": reduce is SUM, which is not defined for bool"});
    wrong(1, ReduceOp::sum, DType::c128, strict, {who + ": dtype is complex128, allowed are"});
    if (ranks() == 1) return;
    wrong(1, ReduceOp::max, DType::i32, strict, {"reduce is SUM on", "MAX on " + who});
    wrong(1, ReduceOp::sum, DType::f32, strict, {"dtype is int32 on", "float32 on " + who});
    wrong(1, ReduceOp::sum, DType::i32, KeyMatch::by_position,
          {"key match is strict on", "by_position on " + who});
}

TEST_CASE("all_reduce_dict: names of the key match") {
    CHECK(key_match_from_name("strict") == KeyMatch::strict);
    CHECK(key_match_from_name("by_position") == KeyMatch::by_position);
    CHECK(name(KeyMatch::strict) == "strict");
    CHECK(name(KeyMatch::by_position) == "by_position");
    try {
        (void)key_match_from_name("by_name");
        FAIL_CHECK("no error");
    } catch (const ArgumentError& error) {
        CHECK(std::string(error.what()) == "key match is 'by_name', allowed are strict, by_position");
    }
}
