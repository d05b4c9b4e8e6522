#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>
#include <plumb/mpi/agreement.h>

namespace plumb::mpi {

namespace {

using RankSet = std::vector<GlobalRank>;

std::string ranks_phrase(std::span<const GlobalRank> ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

/// Ranks grouped by what they say, in order of first appearance.
class Groups {
  public:
    void add(const std::string& what, GlobalRank rank) {
        auto place =
            std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.first == what; });
        if (place == groups_.end()) {
            place = groups_.insert(groups_.end(), {what, {}});
        }
        place->second.push_back(rank);
    }
    [[nodiscard]] const std::vector<std::pair<std::string, RankSet>>& all() const { return groups_; }
    /// All ranks but those of the largest group; all where no group is the largest.
    [[nodiscard]] RankSet minority() const {
        const auto larger = [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); };
        const auto largest = std::max_element(groups_.begin(), groups_.end(), larger);
        const bool unique = std::count_if(groups_.begin(), groups_.end(), [&](const auto& g) {
                                return g.second.size() == largest->second.size();
                            }) == 1;
        RankSet ranks;
        for (auto g = groups_.begin(); g != groups_.end(); ++g) {
            if (!unique || g != largest) {
                ranks.insert(ranks.end(), g->second.begin(), g->second.end());
            }
        }
        return ranks;
    }

  private:
    std::vector<std::pair<std::string, RankSet>> groups_;
};

const std::string* find_field(const Signature& signature, const std::string& name) {
    for (const auto& [field, value] : signature.fields()) {
        if (field == name) {
            return &value;
        }
    }
    return nullptr;
}

/// Each rank's own error.
std::string explain_errors(std::span<const GlobalRank> ranks, std::span<const Signature> signatures,
                           RankSet& who) {
    Groups errors;
    for (std::size_t r = 0; r < signatures.size(); ++r) {
        if (signatures[r].failed()) {
            errors.add(signatures[r].error(), ranks[r]);
            who.push_back(ranks[r]);
        }
    }
    std::vector<std::string> parts;
    for (const auto& [text, group] : errors.all()) {
        parts.push_back(fmt::format("{}: {}", ranks_phrase(group), text));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

/// Fields that differ, in the order in which they were first named; at most a handful is spelled out.
std::string explain_fields(std::span<const GlobalRank> ranks, std::span<const Signature> signatures,
                           RankSet& who) {
    constexpr std::size_t kMostFields = 6;
    std::vector<std::string_view> names;
    std::unordered_map<std::string_view, std::vector<const std::string*>> values_of;  // one per rank
    for (std::size_t r = 0; r < signatures.size(); ++r) {
        for (const auto& [field, value] : signatures[r].fields()) {
            auto& values = values_of[field];
            if (values.empty()) {
                values.resize(signatures.size(), nullptr);
                names.push_back(field);
            }
            values[r] = &value;
        }
    }
    std::vector<std::string> parts;
    std::size_t differing = 0;
    for (const auto field : names) {
        Groups values;
        for (std::size_t r = 0; r < signatures.size(); ++r) {
            const auto* value = values_of[field][r];
            values.add(value != nullptr ? *value : "not given", ranks[r]);
        }
        if (values.all().size() < 2) {
            continue;
        }
        const RankSet minority = values.minority();
        who.insert(who.end(), minority.begin(), minority.end());
        if (++differing <= kMostFields) {
            std::vector<std::string> alternatives;
            for (const auto& [value, group] : values.all()) {
                alternatives.push_back(fmt::format("{} on {}", value, ranks_phrase(group)));
            }
            parts.push_back(fmt::format("{} is {}", field, fmt::join(alternatives, ", ")));
        }
        if (field == "operation") {
            break;  // different operations: their other fields are not comparable
        }
    }
    if (differing > kMostFields) {
        parts.push_back(fmt::format("and {} more differences", differing - kMostFields));
    }
    return parts.empty() ? std::string{} : fmt::format("the ranks disagree: {}", fmt::join(parts, "; "));
}

std::int64_t amount_for(const Signature::Amounts& amounts, std::size_t peer) {
    for (const auto& [rank, amount] : amounts) {
        if (rank == static_cast<int>(peer)) {
            return amount;
        }
    }
    return 0;
}

/// Pairs whose two ends do not match; at most a handful is spelled out.
std::string explain_pairs(std::span<const GlobalRank> ranks, std::span<const Signature> signatures,
                          RankSet& who) {
    constexpr std::size_t kMostPairs = 4;
    std::vector<std::string> parts;
    std::size_t bad = 0;
    for (std::size_t from = 0; from < signatures.size(); ++from) {
        for (std::size_t to = 0; to < signatures.size(); ++to) {
            const auto sent = amount_for(signatures[from].sent(), to);
            const auto expected = amount_for(signatures[to].expected(), from);
            if (sent == expected) {
                continue;
            }
            who.push_back(ranks[from]);
            who.push_back(ranks[to]);
            if (++bad <= kMostPairs) {
                parts.push_back(fmt::format("rank {} sends {} to rank {}, which expects {}",
                                            ranks[from].value, sent, ranks[to].value, expected));
            }
        }
    }
    if (bad > kMostPairs) {
        parts.push_back(fmt::format("and {} more pairs", bad - kMostPairs));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string rank_list(std::span<const GlobalRank> ranks) {
    std::vector<std::string> runs;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) {
            ++end;
        }
        if (end - i >= 3) {
            runs.push_back(fmt::format("{}-{}", ranks[i].value, ranks[end - 1].value));
        } else {
            for (std::size_t k = i; k < end; ++k) {
                runs.push_back(fmt::format("{}", ranks[k].value));
            }
        }
        i = end;
    }
    return fmt::format("{}", fmt::join(runs, ","));
}

Disagreement explain(std::string_view group, std::span<const GlobalRank> ranks,
                     std::span<const Signature> signatures) {
    Disagreement result;
    std::string what = explain_errors(ranks, signatures, result.ranks);
    if (what.empty()) {
        what = explain_fields(ranks, signatures, result.ranks);
    }
    if (what.empty()) {
        what = explain_pairs(ranks, signatures, result.ranks);
    }
    if (what.empty()) {
        what = "the ranks' calls differ";
        result.ranks.assign(ranks.begin(), ranks.end());
    }
    std::sort(result.ranks.begin(), result.ranks.end());
    result.ranks.erase(std::unique(result.ranks.begin(), result.ranks.end()), result.ranks.end());
    Groups operations;
    for (std::size_t r = 0; r < signatures.size(); ++r) {
        const auto* operation = find_field(signatures[r], "operation");
        operations.add(operation != nullptr ? *operation : "call", ranks[r]);
    }
    std::vector<std::string> names;
    for (const auto& [operation, who] : operations.all()) {
        names.push_back(operation);
    }
    result.message =
        fmt::format("{} on group '{}' ({}): {}", fmt::join(names, " / "), group, ranks_phrase(ranks), what);
    return result;
}

void throw_disagreement(std::string_view group, std::span<const GlobalRank> ranks, std::span<const int> sizes,
                        std::string_view texts) {
    std::vector<Signature> signatures;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const auto size = static_cast<std::size_t>(sizes[r]);
        signatures.push_back(Signature::deserialise(texts.substr(0, size), static_cast<int>(r)));
        texts.remove_prefix(size);
    }
    Disagreement disagreement = explain(group, ranks, signatures);
    throw AgreementError(disagreement.message, std::move(disagreement.ranks));
}

}  // namespace plumb::mpi
