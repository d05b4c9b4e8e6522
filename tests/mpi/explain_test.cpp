// What a disagreement says: every message here is written by hand.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/mpi/agreement.h>

namespace {

using plumb::GlobalRank;
using plumb::mpi::Signature;

/// `describe(signature, position)` for each of these ranks.
template <class Describe>
plumb::mpi::Disagreement explained(const std::vector<int>& values, Describe&& describe) {
    std::vector<GlobalRank> ranks(values.begin(), values.end());
    std::vector<Signature> signatures;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        Signature& signature = signatures.emplace_back(Signature::Form::text, static_cast<int>(r));
        describe(signature, r);
    }
    return plumb::mpi::explain("data", ranks, signatures);
}

std::vector<GlobalRank> ranks_of(std::vector<int> values) {
    return {values.begin(), values.end()};
}

TEST_CASE("rank lists") {
    const auto list = [](std::vector<int> values) {
        const auto ranks = ranks_of(std::move(values));
        return plumb::mpi::rank_list(ranks);
    };
    CHECK(list({}).empty());
    CHECK(list({4}) == "4");
    CHECK(list({0, 1}) == "0,1");
    CHECK(list({0, 1, 2}) == "0-2");
    CHECK(list({0, 1, 2, 5}) == "0-2,5");
    CHECK(list({1, 3, 4, 5, 6, 8, 9}) == "1,3-6,8,9");
    CHECK(list({3, 2, 1, 0}) == "3,2,1,0");
    CHECK(list({5, 6, 7, 0, 1, 2}) == "5-7,0-2");
}

TEST_CASE("where pieces begin") {
    CHECK(plumb::mpi::displacements(std::vector<int>{3, 0, 5, 1}) == std::vector<int>{0, 3, 3, 8});
    CHECK(plumb::mpi::displacements(std::vector<int>{7}) == std::vector<int>{0});
    CHECK(plumb::mpi::displacements({}).empty());
}

TEST_CASE("one rank deviates in one field") {
    const auto got = explained({0, 1, 2, 3}, [](Signature& s, std::size_t r) {
        s.field("operation", "all_gather");
        s.field("input dtype", r == 2 ? "float16" : "float32");
        s.field("input shape", "[2, 3]");
    });
    CHECK(
        got.message ==
        "all_gather on group 'data' (ranks 0-3): the ranks disagree: input dtype is float32 on ranks 0,1,3, "
        "float16 on rank 2");
    CHECK(got.ranks == ranks_of({2}));
}

TEST_CASE("two fields, different ranks") {
    const auto got = explained({4, 6, 8}, [](Signature& s, std::size_t r) {
        s.field("operation", "reduce");
        s.field("root", std::int64_t{r == 0 ? 6 : 4});
        s.field("input shape", r == 2 ? "[2]" : "[3]");
    });
    CHECK(got.message ==
          "reduce on group 'data' (ranks 4,6,8): the ranks disagree: root is 6 on rank 4, 4 on ranks 6,8; "
          "input shape is [3] on ranks 4,6, [2] on rank 8");
    CHECK(got.ranks == ranks_of({4, 8}));
}

TEST_CASE("no majority: all ranks are named") {
    const auto got = explained({1, 0}, [](Signature& s, std::size_t r) {
        s.field("operation", "broadcast");
        s.field("root", static_cast<std::int64_t>(r));
    });
    CHECK(got.message ==
          "broadcast on group 'data' (ranks 1,0): the ranks disagree: root is 0 on rank 1, 1 on rank 0");
    CHECK(got.ranks == ranks_of({0, 1}));
}

TEST_CASE("different operations: nothing else is compared") {
    const auto got = explained({0, 1, 2}, [](Signature& s, std::size_t r) {
        s.field("operation", r == 1 ? "barrier" : "all_gather");
        if (r != 1) {
            s.field("input shape", "[2]");
        }
    });
    CHECK(got.message ==
          "all_gather / barrier on group 'data' (ranks 0-2): the ranks disagree: operation is all_gather on "
          "ranks 0,2, barrier on rank 1");
    CHECK(got.ranks == ranks_of({1}));
}

TEST_CASE("a field that one rank does not have") {
    const auto got = explained({0, 1, 2}, [](Signature& s, std::size_t r) {
        s.field("operation", "all_reduce_dict");
        s.field("key 0", "loss");
        if (r == 2) {
            s.field("key 1", "accuracy");
        }
    });
    CHECK(got.message ==
          "all_reduce_dict on group 'data' (ranks 0-2): the ranks disagree: key 1 is not given on ranks 0,1, "
          "accuracy on rank 2");
    CHECK(got.ranks == ranks_of({2}));
}

TEST_CASE("errors of single ranks come first, equal ones together") {
    const auto got = explained({0, 1, 2, 3}, [](Signature& s, std::size_t r) {
        s.field("operation", "scatter");
        if (r == 0 || r == 3) {
            s.fail("input is undefined");
        } else if (r == 1) {
            s.fail("dim is 5, allowed is -2 … 1");
        } else {
            s.field("dim", std::int64_t{1});
        }
    });
    CHECK(
        got.message ==
        "scatter on group 'data' (ranks 0-3): ranks 0,3: input is undefined; rank 1: dim is 5, allowed is -2 "
        "… 1");
    CHECK(got.ranks == ranks_of({0, 1, 3}));
}

TEST_CASE("pairs that do not match") {
    const auto got = explained({10, 11, 12}, [](Signature& s, std::size_t r) {
        s.field("operation", "all_to_all_single");
        for (int peer = 0; peer < 3; ++peer) {
            s.sends(peer, 2);
            s.expects(peer, r == 2 && peer == 0 ? 3 : 2);
        }
    });
    CHECK(got.message ==
          "all_to_all_single on group 'data' (ranks 10-12): rank 10 sends 2 to rank 12, which expects 3");
    CHECK(got.ranks == ranks_of({10, 12}));
}

TEST_CASE("many pairs: four are spelled out") {
    const auto got = explained({0, 1, 2}, [](Signature& s, std::size_t) {
        s.field("operation", "all_to_all_single");
        for (int peer = 0; peer < 3; ++peer) {
            s.sends(peer, 1);
        }
    });
    CHECK(got.message ==
          "all_to_all_single on group 'data' (ranks 0-2): rank 0 sends 1 to rank 0, which expects 0; rank 0 "
          "sends 1 to rank 1, which expects 0; rank 0 sends 1 to rank 2, which expects 0; rank 1 sends 1 to "
          "rank 0, which expects 0; and 5 more pairs");
    CHECK(got.ranks == ranks_of({0, 1, 2}));
}

TEST_CASE("a difference that no text shows is still an error") {
    const auto got = explained({0, 1}, [](Signature& s, std::size_t) { s.field("operation", "barrier"); });
    CHECK(got.message == "barrier on group 'data' (ranks 0,1): the ranks' calls differ");
    CHECK(got.ranks == ranks_of({0, 1}));
}

TEST_CASE("a group of one rank") {
    const auto got = explained({5}, [](Signature& s, std::size_t) {
        s.field("operation", "gather");
        s.fail("root is 6");
    });
    CHECK(got.message == "gather on group 'data' (rank 5): rank 5: root is 6");
    CHECK(got.ranks == ranks_of({5}));
}

TEST_CASE("thrown from the bytes of all ranks") {
    Signature first(Signature::Form::text, 0);
    first.field("operation", "reduce");
    first.field("op", "sum");
    Signature second(Signature::Form::text, 1);
    second.field("operation", "reduce");
    second.field("op", "max");
    const std::string bytes = first.serialise() + second.serialise();
    const std::vector<int> sizes{static_cast<int>(first.serialise().size()),
                                 static_cast<int>(second.serialise().size())};
    const auto ranks = ranks_of({2, 3});
    try {
        plumb::mpi::throw_disagreement("tensor", ranks, sizes, bytes);
    } catch (const plumb::AgreementError& error) {
        CHECK(std::string(error.what()) ==
              "reduce on group 'tensor' (ranks 2,3): the ranks disagree: op is sum on rank 2, max on rank 3");
        CHECK(error.ranks() == ranks_of({2, 3}));
    }
}

}  // namespace
