#include <plumb/mpi/agreement.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <plumb/core/error.h>
#include <plumb/mpi/check.h>
#include <plumb/mpi/environment.h>
#include <plumb/mpi/handles.h>

namespace plumb::mpi {

std::string_view name(CheckLevel level) {
    switch (level) {
        case CheckLevel::off:
            return "off";
        case CheckLevel::local:
            return "local";
        case CheckLevel::agree:
            return "agree";
    }
    return "?";
}

CheckLevel check_level_from_name(std::string_view text) {
    for (const auto level : {CheckLevel::off, CheckLevel::local, CheckLevel::agree}) {
        if (text == name(level)) {
            return level;
        }
    }
    throw ArgumentError(fmt::format("check level is '{}', allowed are off, local, agree", text));
}

namespace {

/// The finaliser of splitmix64: a bijection that spreads every input bit.
constexpr std::uint64_t spread(std::uint64_t x) noexcept {
    x ^= x >> 30U;
    x *= 0xbf58476d1ce4e5b9U;
    x ^= x >> 27U;
    x *= 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
}

std::uint64_t pair_hash(int from, int to, std::int64_t amount) noexcept {
    const auto pair = (static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to);
    return spread(spread(pair + 0x9e3779b97f4a7c15U) ^ static_cast<std::uint64_t>(amount));
}

void put(std::string& out, std::int64_t value) {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    out.append(bytes.data(), bytes.size());
}

void put(std::string& out, std::string_view text) {
    put(out, static_cast<std::int64_t>(text.size()));
    out.append(text);
}

/// Reads what `put` wrote. The bytes come from a peer running the same code, so they are trusted.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    std::int64_t number() {
        std::int64_t value = 0;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_.remove_prefix(sizeof value);
        return value;
    }
    std::string text() {
        const auto length = static_cast<std::size_t>(number());
        std::string value(bytes_.substr(0, length));
        bytes_.remove_prefix(length);
        return value;
    }

  private:
    std::string_view bytes_;
};

void combine_records(void* in, void* inout, int* length, MPI_Datatype*) {
    const auto* a = static_cast<const AgreementRecord*>(in);
    auto* b = static_cast<AgreementRecord*>(inout);
    for (int i = 0; i < *length; ++i, ++a, ++b) {
        b->smallest_hash = std::min(a->smallest_hash, b->smallest_hash);
        b->largest_hash = std::max(a->largest_hash, b->largest_hash);
        b->any_failed |= a->any_failed;
        b->pair_balance += a->pair_balance;
        for (std::size_t w = 0; w < kHeaderWords; ++w) {
            b->header[w] = std::max(a->header[w], b->header[w]);
        }
    }
}

/// The datatype and operator of the agreement, made once per process and freed at the start of MPI_Finalize.
struct AgreementTypes {
    Datatype record;
    Op combine;
};

const AgreementTypes& agreement_types() {
    static AgreementTypes types;
    if (!types.record) {
        static_assert(sizeof(AgreementRecord) % sizeof(std::uint64_t) == 0);
        MPI_Datatype record = MPI_DATATYPE_NULL;
        check(MPI_Type_contiguous(static_cast<int>(sizeof(AgreementRecord) / sizeof(std::uint64_t)),
                                  MPI_UINT64_T, &record),
              "MPI_Type_contiguous", world_caller());
        types.record = Datatype(record);
        check(MPI_Type_commit(&record), "MPI_Type_commit", world_caller());
        MPI_Op combine = MPI_OP_NULL;
        check(MPI_Op_create(combine_records, /*commute=*/1, &combine), "MPI_Op_create", world_caller());
        types.combine = Op(combine);
        at_finalize(FinalizePhase::release, [] {
            types.combine.reset();
            types.record.reset();
        });
    }
    return types;
}

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

/// Fields that differ, in the order in which they were first named.
std::string explain_fields(std::span<const GlobalRank> ranks, std::span<const Signature> signatures,
                           RankSet& who) {
    std::vector<std::string> names;
    for (const auto& signature : signatures) {
        for (const auto& [field, value] : signature.fields()) {
            if (std::find(names.begin(), names.end(), field) == names.end()) {
                names.push_back(field);
            }
        }
    }
    std::vector<std::string> parts;
    for (const auto& field : names) {
        Groups values;
        for (std::size_t r = 0; r < signatures.size(); ++r) {
            const auto* value = find_field(signatures[r], field);
            values.add(value != nullptr ? *value : "not given", ranks[r]);
        }
        if (values.all().size() < 2) {
            continue;
        }
        std::vector<std::string> alternatives;
        for (const auto& [value, group] : values.all()) {
            alternatives.push_back(fmt::format("{} on {}", value, ranks_phrase(group)));
        }
        parts.push_back(fmt::format("{} is {}", field, fmt::join(alternatives, ", ")));
        const RankSet minority = values.minority();
        who.insert(who.end(), minority.begin(), minority.end());
        if (field == "operation") {
            break;  // different operations: their other fields are not comparable
        }
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

void Signature::mix(std::uint64_t word) noexcept {
    hash_ = spread(hash_ ^ word) + 0x9e3779b97f4a7c15U;
}

void Signature::mix(std::string_view text) noexcept {
    mix(static_cast<std::uint64_t>(text.size()));
    while (!text.empty()) {
        std::uint64_t word = 0;
        const std::size_t length = std::min(text.size(), sizeof word);
        std::memcpy(&word, text.data(), length);
        mix(word);
        text.remove_prefix(length);
    }
}

void Signature::field(std::string_view name, std::string_view value) {
    if (form_ == Form::hash) {
        mix(name);
        mix(value);
    } else {
        fields_.emplace_back(name, value);
    }
}

void Signature::field(std::string_view name, std::int64_t value) {
    if (form_ == Form::hash) {
        mix(name);
        mix(static_cast<std::uint64_t>(value));
    } else {
        fields_.emplace_back(name, fmt::format("{}", value));
    }
}

void Signature::field(std::string_view name, std::span<const std::int64_t> values) {
    if (form_ == Form::hash) {
        mix(name);
        mix(static_cast<std::uint64_t>(values.size()));
        for (const auto value : values) {
            mix(static_cast<std::uint64_t>(value));
        }
    } else {
        fields_.emplace_back(name, fmt::format("[{}]", fmt::join(values, ", ")));
    }
}

void Signature::sends(int peer, std::int64_t amount) {
    pair_balance_ += pair_hash(rank_, peer, amount);
    if (form_ == Form::text) {
        sends_.emplace_back(peer, amount);
    }
}

void Signature::expects(int peer, std::int64_t amount) {
    pair_balance_ -= pair_hash(peer, rank_, amount);
    if (form_ == Form::text) {
        expects_.emplace_back(peer, amount);
    }
}

void Signature::fail(std::string_view message) {
    failed_ = true;
    if (form_ == Form::text) {
        error_ = message;
    }
}

std::string Signature::serialise() const {
    std::string out;
    put(out, failed_ ? 1 : 0);
    put(out, std::string_view(error_));
    put(out, static_cast<std::int64_t>(fields_.size()));
    for (const auto& [name, value] : fields_) {
        put(out, std::string_view(name));
        put(out, std::string_view(value));
    }
    for (const auto* amounts : {&sends_, &expects_}) {
        put(out, static_cast<std::int64_t>(amounts->size()));
        for (const auto& [peer, amount] : *amounts) {
            put(out, peer);
            put(out, amount);
        }
    }
    return out;
}

Signature Signature::deserialise(std::string_view bytes, int rank) {
    Signature signature(Form::text, rank);
    Reader reader(bytes);
    signature.failed_ = reader.number() != 0;
    signature.error_ = reader.text();
    const auto fields = reader.number();
    for (std::int64_t i = 0; i < fields; ++i) {
        auto name = reader.text();
        auto value = reader.text();
        signature.fields_.emplace_back(std::move(name), std::move(value));
    }
    for (auto* amounts : {&signature.sends_, &signature.expects_}) {
        const auto count = reader.number();
        for (std::int64_t i = 0; i < count; ++i) {
            const auto peer = static_cast<int>(reader.number());
            amounts->emplace_back(peer, reader.number());
        }
    }
    return signature;
}

AgreementRecord AgreementRecord::of(const Signature& signature, const Header& header) {
    return {signature.hash(), signature.hash(), signature.failed() ? 1U : 0U, signature.pair_balance(),
            header};
}

void post_agreement(const AgreementRecord& mine, AgreementRecord& combined, MPI_Comm comm,
                    MPI_Request* request, std::string_view group, GlobalRank rank) {
    const AgreementTypes& types = agreement_types();
    check(MPI_Iallreduce(&mine, &combined, 1, types.record.get(), types.combine.get(), comm, request),
          "MPI_Iallreduce", {group, rank});
}

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

std::vector<int> displacements(std::span<const int> sizes) {
    std::vector<int> places(sizes.size(), 0);
    for (std::size_t r = 1; r < places.size(); ++r) {
        places[r] = places[r - 1] + sizes[r - 1];
    }
    return places;
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

void agree(MPI_Comm comm, std::string_view group, std::span<const GlobalRank> ranks,
           const std::function<void(Signature&)>& describe) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    const Caller caller{group, ranks[static_cast<std::size_t>(rank)]};
    Signature hashed(Signature::Form::hash, rank);
    Signature spelled(Signature::Form::text, rank);
    for (auto* signature : {&hashed, &spelled}) {
        try {
            describe(*signature);
        } catch (const std::exception& error) {
            signature->fail(error.what());
        }
    }
    const AgreementRecord mine = AgreementRecord::of(hashed, {});
    AgreementRecord combined;
    MPI_Request request = MPI_REQUEST_NULL;
    post_agreement(mine, combined, comm, &request, group, caller.rank);
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait", caller);
    if (combined.agreed()) {
        return;
    }
    const std::string bytes = spelled.serialise();
    const int size = static_cast<int>(bytes.size());
    std::vector<int> sizes(ranks.size());
    check(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm), "MPI_Allgather", caller);
    const std::vector<int> places = displacements(sizes);
    std::string all(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    check(
        MPI_Allgatherv(bytes.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR, comm),
        "MPI_Allgatherv", caller);
    throw_disagreement(group, ranks, sizes, all);
}

}  // namespace plumb::mpi
