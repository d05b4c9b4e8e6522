#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include <plumb/core/error.h>
#include <plumb/oracle/case_set.h>
#include <plumb/oracle/compare.h>
#include <plumb/oracle/reference_case.h>

using namespace plumb;
using namespace plumb::oracle;

namespace {

const CaseSet& golden() {
    static const CaseSet set = CaseSet::load(PLUMB_GOLDEN_DIR);
    return set;
}

std::map<std::string, Tensor> run(const Case& item) {
    return reference::run_case(
        item, [&](GlobalRank rank, Role role, int k) { return golden().tensor(item, rank, role, k); });
}

}  // namespace

TEST_CASE("the golden cases load, none with a problem") {
    std::size_t values = 0;
    std::size_t errors = 0;
    for (const Case& item : golden().cases()) {
        CAPTURE(item.id);
        CHECK(item.problem == "");
        values += item.expected == Expected::values ? 1 : 0;
        errors += item.expected == Expected::error ? 1 : 0;
    }
    CHECK(golden().cases().size() == 413);
    CHECK(values == 363);
    CHECK(errors == 50);
}

TEST_CASE("the reference gives every recorded value, forward and backward") {
    std::size_t tensors = 0;
    std::size_t gradients = 0;
    std::set<std::string> judged_cases;
    for (const Case& item : golden().cases()) {
        if (item.expected != Expected::values) continue;
        CAPTURE(item.id);
        const std::map<std::string, Tensor> results = run(item);
        std::size_t recorded = 0;
        for (const auto& listed : item.tensors) {
            const std::string& key = listed.first;
            const TensorEntry& entry = listed.second;
            if (entry.role != Role::out && entry.role != Role::grad_in) continue;
            CAPTURE(key);
            ++recorded;
            REQUIRE(results.count(key) == 1);
            const Tensor expected = golden().tensor(item, entry.rank, entry.role, entry.k);
            const Rule rule = entry.role == Role::out ? rule_for_out(golden(), item, entry.rank) : Rule{};
            CHECK(compare(expected, results.at(key), rule).describe() == "");
            gradients += entry.role == Role::grad_in ? 1 : 0;
        }
        CHECK(results.size() == recorded);  // and no result that was not recorded
        tensors += recorded;
        judged_cases.insert(item.id);
    }
    CHECK(judged_cases.size() == 363);
    CHECK(tensors > 900);
    CHECK(gradients > 500);
}

TEST_CASE("all ranks of a group get the same bits where a sum is judged with tolerance") {
    for (const Case& item : golden().cases()) {
        if (item.compare != CompareKind::rounding) continue;
        const std::map<std::string, Tensor> results = run(item);
        for (const auto& group : item.groups)
            for (const GlobalRank rank : group)
                CHECK(compare(results.at(tensor_key(group[0], Role::out)),
                              results.at(tensor_key(rank, Role::out)))
                          .ok());
    }
}

TEST_CASE("the reference refuses what was refused") {
    // Calls wrong in their list or output buffer have nothing for the reference to see.
    const std::set<std::string> about_buffers = {"list given on a rank that is not src",
                                                 "list and tensor dtypes differ",
                                                 "list and tensor shapes differ",
                                                 "no list on the dst rank",
                                                 "list given on a rank that is not dst",
                                                 "list length differs from the group size",
                                                 "output size is not group size times input size",
                                                 "output and input dtypes differ"};
    std::size_t refused = 0;
    for (const Case& item : golden().cases()) {
        if (item.expected != Expected::error || about_buffers.count(item.error.reason) != 0) continue;
        CAPTURE(item.id);
        CHECK_THROWS_AS((void)run(item), ArgumentError);
        ++refused;
    }
    CHECK(refused == 39);
}
