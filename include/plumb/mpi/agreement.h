#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mpi.h>

#include <plumb/core/rank.h>

namespace plumb::mpi {

/// How much a call checks before its payload moves. `agree`: all arguments, and that all ranks of the group
/// made the same call. `local`: the arguments of this rank alone. `off`: as local, without the checks that
/// cost time (overlap).
enum class CheckLevel : std::uint8_t { off, local, agree };
[[nodiscard]] std::string_view name(CheckLevel level);
/// Throws ArgumentError that lists what is allowed.
[[nodiscard]] CheckLevel check_level_from_name(std::string_view text);

/// What one rank says about its call: named fields that must be equal on all ranks of the group, amounts that
/// must match between pairs of ranks, and the call's own error, if it has one.
///
/// A Signature is filled by the same code in two ways: as a hash, without any heap memory, for the check that
/// every call pays; and as text, for the message, only when a check has failed.
class Signature {
  public:
    enum class Form { hash, text };

    Signature(Form form, int rank) : form_(form), rank_(rank) {}

    /// Must be equal on all ranks.
    void field(std::string_view name, std::string_view value);
    void field(std::string_view name, std::int64_t value);
    void field(std::string_view name, std::span<const std::int64_t> values);
    /// This rank will send `amount` to group rank `peer`, which must `expect` as much from this rank. Once
    /// per peer; saying nothing is saying 0.
    void sends(int peer, std::int64_t amount);
    void expects(int peer, std::int64_t amount);
    /// The call is wrong by itself.
    void fail(std::string_view message);

    [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
    /// Adds up to 0 (mod 2^64) over all ranks exactly if all pairs match, but for a hash collision.
    [[nodiscard]] std::uint64_t pair_balance() const noexcept { return pair_balance_; }
    [[nodiscard]] bool failed() const noexcept { return failed_; }

    /// The text form as bytes for the wire, and back.
    [[nodiscard]] std::string serialise() const;
    static Signature deserialise(std::string_view bytes, int rank);

    using Fields = std::vector<std::pair<std::string, std::string>>;
    using Amounts = std::vector<std::pair<int, std::int64_t>>;
    [[nodiscard]] const Fields& fields() const noexcept { return fields_; }
    [[nodiscard]] const Amounts& sent() const noexcept { return sends_; }
    [[nodiscard]] const Amounts& expected() const noexcept { return expects_; }
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

  private:
    void mix(std::uint64_t word) noexcept;
    void mix(std::string_view text) noexcept;

    Form form_;
    int rank_;
    std::uint64_t hash_ = 0x9e3779b97f4a7c15U;
    std::uint64_t pair_balance_ = 0;
    bool failed_ = false;
    Fields fields_;
    Amounts sends_;
    Amounts expects_;
    std::string error_;
};

/// Words that one rank (the root) may share with all others inside the agreement: a dtype and a shape fit.
inline constexpr std::size_t kHeaderWords = 12;
using Header = std::array<std::uint64_t, kHeaderWords>;

/// The fixed-size record that the agreement collective combines over the group: the one small collective that
/// a successful call costs.
struct AgreementRecord {
    std::uint64_t smallest_hash = 0;
    std::uint64_t largest_hash = 0;
    std::uint64_t any_failed = 0;
    std::uint64_t pair_balance = 0;
    Header header{};  ///< combined by maximum: ranks with nothing to say leave zeros

    static AgreementRecord of(const Signature& signature, const Header& header);
    [[nodiscard]] bool agreed() const noexcept {
        return smallest_hash == largest_hash && any_failed == 0 && pair_balance == 0;
    }
};

/// Posts the non-blocking agreement. Both records must stay in place until the request is complete.
/// Collective over `comm`.
void post_agreement(const AgreementRecord& mine, AgreementRecord& combined, MPI_Comm comm,
                    MPI_Request* request, std::string_view group, GlobalRank rank);

/// "0-2,5".
[[nodiscard]] std::string rank_list(std::span<const GlobalRank> ranks);

/// What went wrong, composed from all ranks' text signatures (in group order): the same on every rank.
struct Disagreement {
    std::string message;
    std::vector<GlobalRank> ranks;
};
[[nodiscard]] Disagreement explain(std::string_view group, std::span<const GlobalRank> ranks,
                                   std::span<const Signature> signatures);

/// Throws the AgreementError of `explain`, from all ranks' serialised text signatures one after the other.
[[noreturn]] void throw_disagreement(std::string_view group, std::span<const GlobalRank> ranks,
                                     std::span<const int> sizes, std::string_view texts);

/// Where each piece begins when pieces of these sizes stand one after the other.
[[nodiscard]] std::vector<int> displacements(std::span<const int> sizes);

/// The blocking form, for the making of contexts and groups: throws the same AgreementError on all ranks
/// unless they agree. `describe` fills the signature (it is called again for the message) and may throw,
/// which counts as this rank's error. Progresses what is in flight while it waits, no longer than
/// PLUMB_TIMEOUT: then it throws TimeoutError. Collective over `comm`, whose ranks are `ranks`.
void agree(MPI_Comm comm, std::string_view group, std::span<const GlobalRank> ranks,
           const std::function<void(Signature&)>& describe);

}  // namespace plumb::mpi
