#include <plumb/mpi/agreement.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>

namespace {

using plumb::mpi::CheckLevel;
using plumb::mpi::Signature;
using Form = Signature::Form;

template <class Describe>
std::uint64_t hash_of(Describe&& describe, int rank = 0) {
    Signature signature(Form::hash, rank);
    describe(signature);
    return signature.hash();
}

TEST_CASE("the hash tells numbers apart by every single bit") {
    for (const std::int64_t base :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{12345}, std::numeric_limits<std::int64_t>::min()}) {
        const auto with = [&](std::int64_t value) {
            return hash_of([&](Signature& s) {
                s.field("operation", "gather");
                s.field("root", value);
                s.field("count", std::int64_t{9});
            });
        };
        std::set<std::uint64_t> hashes{with(base)};
        for (unsigned bit = 0; bit < 64; ++bit) {
            const auto flipped = static_cast<std::uint64_t>(base) ^ (std::uint64_t{1} << bit);
            hashes.insert(with(static_cast<std::int64_t>(flipped)));
        }
        CHECK(hashes.size() == 65);
    }
}

TEST_CASE("the hash tells texts apart by every single bit, in name and value") {
    const std::string value = "reduce_scatter of float8_e4m3fn";  // longer than a word, no multiple of one
    const std::string name = "input dtype";
    std::set<std::uint64_t> hashes{hash_of([&](Signature& s) { s.field(name, value); })};
    std::size_t variants = 1;
    for (const bool in_name : {false, true}) {
        const std::string& base = in_name ? name : value;
        for (std::size_t i = 0; i < base.size(); ++i) {
            for (unsigned bit = 0; bit < 8; ++bit, ++variants) {
                std::string changed = base;
                changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ (1U << bit));
                hashes.insert(hash_of(
                    [&](Signature& s) { in_name ? s.field(changed, value) : s.field(name, changed); }));
            }
        }
    }
    CHECK(variants == 1 + 8 * (31 + 11));
    CHECK(hashes.size() == variants);
}

TEST_CASE("the hash tells lists apart by every bit of every element, by length and by order") {
    const std::array<std::int64_t, 8> base{2, 3, 0, 5, -1, 1, 1, 64};
    const auto with = [](std::span<const std::int64_t> values) {
        return hash_of([&](Signature& s) { s.field("input shape", values); });
    };
    std::set<std::uint64_t> hashes;
    std::size_t variants = 0;
    for (std::size_t length = 0; length <= base.size(); ++length, ++variants) {
        hashes.insert(with(std::span(base).first(length)));
    }
    for (std::size_t i = 0; i < base.size(); ++i) {
        for (unsigned bit = 0; bit < 64; ++bit, ++variants) {
            auto changed = base;
            changed[i] =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(changed[i]) ^ (std::uint64_t{1} << bit));
            hashes.insert(with(changed));
        }
    }
    auto swapped = base;
    std::swap(swapped[0], swapped[1]);
    hashes.insert(with(swapped));
    ++variants;
    CHECK(hashes.size() == variants);
}

TEST_CASE("the hash depends on the order of fields and on where texts end") {
    const auto ab = hash_of([](Signature& s) {
        s.field("a", std::int64_t{1});
        s.field("b", std::int64_t{2});
    });
    const auto ba = hash_of([](Signature& s) {
        s.field("b", std::int64_t{2});
        s.field("a", std::int64_t{1});
    });
    CHECK(ab != ba);
    CHECK(hash_of([](Signature& s) { s.field("ab", "c"); }) !=
          hash_of([](Signature& s) { s.field("a", "bc"); }));
    CHECK(hash_of([](Signature& s) { s.field("a", std::string_view("b\0", 2)); }) !=
          hash_of([](Signature& s) { s.field("a", "b"); }));
    CHECK(hash_of([](Signature& s) { s.field("a", ""); }) != hash_of([](Signature&) {}));
}

TEST_CASE("the hash is of what must be equal: not of the rank, nor of amounts between pairs") {
    const auto describe = [](int peer) {
        return [peer](Signature& s) {
            s.field("operation", "exchange");
            s.sends(peer, 4 + peer);
        };
    };
    CHECK(hash_of(describe(1), 0) == hash_of(describe(5), 3));
}

TEST_CASE("pair balances add up to zero exactly if all pairs match") {
    std::mt19937_64 random(20240607);
    const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
    for (int round = 0; round < 4000; ++round) {
        const int n = 1 + below(6);
        const auto at = [n](int from, int to) { return static_cast<std::size_t>(from * n + to); };
        std::vector<std::int64_t> sent(static_cast<std::size_t>(n * n));
        for (auto& amount : sent) {
            amount = below(3) == 0 ? 0 : below(5) == 0 ? static_cast<std::int64_t>(random() >> 1U) : below(8);
        }
        auto expected = sent;
        const auto balance = [&] {
            std::uint64_t sum = 0;
            for (int r = 0; r < n; ++r) {
                Signature signature(Form::hash, r);
                for (int peer = 0; peer < n; ++peer) {
                    signature.sends(peer, sent[at(r, peer)]);
                    signature.expects(peer, expected[at(peer, r)]);
                }
                sum += signature.pair_balance();
            }
            return sum;
        };
        REQUIRE(balance() == 0);
        const auto place = at(below(static_cast<std::uint64_t>(n)), below(static_cast<std::uint64_t>(n)));
        expected[place] ^= std::int64_t{1} << below(62);
        REQUIRE(balance() != 0);
        expected = sent;
        // Two amounts exchanged: their sum does not tell.
        const auto a = static_cast<std::size_t>(below(static_cast<std::uint64_t>(n * n)));
        const auto b = static_cast<std::size_t>(below(static_cast<std::uint64_t>(n * n)));
        std::swap(expected[a], expected[b]);
        REQUIRE((balance() == 0) == (sent[a] == sent[b]));
    }
}

TEST_CASE("an amount of nothing is as good as none named") {
    Signature names_it(Form::hash, 0);
    names_it.sends(1, 0);
    const Signature silent(Form::hash, 1);
    CHECK(names_it.pair_balance() + silent.pair_balance() == 0);
}

TEST_CASE("the hash form takes no note of texts, the text form keeps all") {
    Signature hashed(Form::hash, 2);
    Signature spelled(Form::text, 2);
    const std::array<std::int64_t, 3> shape{2, 0, -3};
    for (auto* signature : {&hashed, &spelled}) {
        signature->field("operation", "scatter");
        signature->field("root", std::int64_t{-7});
        signature->field("shape", std::span<const std::int64_t>(shape));
        signature->field("empty", std::span<const std::int64_t>());
        signature->sends(1, 5);
        signature->expects(0, std::int64_t{1} << 40U);
        signature->fail("dim is 4, allowed is 0 … 2");
    }
    CHECK(hashed.fields().empty());
    CHECK(hashed.sent().empty());
    CHECK(hashed.error().empty());
    CHECK(hashed.failed());

    const Signature::Fields fields{
        {"operation", "scatter"}, {"root", "-7"}, {"shape", "[2, 0, -3]"}, {"empty", "[]"}};
    CHECK(spelled.fields() == fields);
    CHECK(spelled.sent() == Signature::Amounts{{1, 5}});
    CHECK(spelled.expected() == Signature::Amounts{{0, std::int64_t{1} << 40U}});
    CHECK(spelled.error() == "dim is 4, allowed is 0 … 2");
    CHECK(spelled.pair_balance() == hashed.pair_balance());
}

TEST_CASE("the text form survives the wire") {
    Signature sent(Form::text, 3);
    sent.field("operation", std::string_view("a\0b", 3));
    sent.field("", "");
    sent.field("name", "ünïcode … and\nlines");
    sent.sends(0, std::numeric_limits<std::int64_t>::max());
    sent.sends(7, -1);
    sent.expects(2, 0);
    const Signature got = Signature::deserialise(sent.serialise(), 3);
    CHECK(got.fields() == sent.fields());
    CHECK(got.sent() == Signature::Amounts{{0, std::numeric_limits<std::int64_t>::max()}, {7, -1}});
    CHECK(got.expected() == Signature::Amounts{{2, 0}});
    CHECK_FALSE(got.failed());
    CHECK(got.error().empty());

    Signature failed(Form::text, 0);
    failed.fail("no");
    const Signature got_failed = Signature::deserialise(failed.serialise(), 0);
    CHECK(got_failed.failed());
    CHECK(got_failed.error() == "no");
}

TEST_CASE("check levels have names") {
    CHECK(name(CheckLevel::off) == "off");
    CHECK(name(CheckLevel::local) == "local");
    CHECK(name(CheckLevel::agree) == "agree");
    for (const auto level : {CheckLevel::off, CheckLevel::local, CheckLevel::agree}) {
        CHECK(plumb::mpi::check_level_from_name(name(level)) == level);
    }
    CHECK_THROWS_WITH_AS(static_cast<void>(plumb::mpi::check_level_from_name("Agree")),
                         "check level is 'Agree', allowed are off, local, agree", plumb::ArgumentError);
    CHECK_THROWS_AS(static_cast<void>(plumb::mpi::check_level_from_name("")), plumb::ArgumentError);
}

}  // namespace
