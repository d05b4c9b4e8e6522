#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumb::cli {

enum class Status : std::uint8_t { passed, failed, skipped };
[[nodiscard]] const char* name(Status status);

/// One thing that is wrong on one rank: either an element of a tensor, or what `message` says.
struct Finding {
    int rank = 0;
    std::string role;  ///< "out", "out_1", "gradin", "in"; empty where it is about the call
    std::vector<std::int64_t> index;
    std::string expected;
    std::string got;
    std::optional<std::uint64_t> ulp;
    std::int64_t wrong = 0;
    std::int64_t elements = 0;
    std::string message;
};
/// "rank 1, rank1_out [0, 2]: expected 1 (0x…), got 2 (0x…), 3 ulp (1 of 6 wrong)".
[[nodiscard]] std::string describe(const Finding& finding);

/// For the way from the rank that found them to the one that reports.
[[nodiscard]] std::string to_text(const std::vector<Finding>& findings);
[[nodiscard]] std::vector<Finding> findings_from_text(const std::string& text);

struct CaseResult {
    std::string id;
    std::string op;
    Status status = Status::passed;
    double seconds = 0;
    std::uint64_t max_ulp = 0;
    std::vector<Finding> findings;  ///< by rank; what made it fail
    std::string reason;             ///< why it failed or was skipped, where that is no rank's finding
    std::string rerun;              ///< the command that runs only this case; may be empty
};
/// One line without the id: the first finding, and how many ranks have any.
[[nodiscard]] std::string describe(const CaseResult& result);

struct Totals {
    std::int64_t passed = 0;
    std::int64_t failed = 0;
    std::int64_t skipped = 0;
    std::uint64_t max_ulp = 0;
    double seconds = 0;

    void add(const CaseResult& result);
    [[nodiscard]] std::int64_t cases() const noexcept { return passed + failed + skipped; }
};

/// All that a command found. Local.
struct Report {
    std::string command;  ///< "replay"
    int ranks = 1;
    std::vector<std::pair<std::string, std::string>> facts;  ///< e.g. {"mesh", "data=2,sequence=2"}
    std::vector<CaseResult> cases;

    [[nodiscard]] Totals totals() const;
    /// In the order in which the ops first appear.
    [[nodiscard]] std::vector<std::pair<std::string, Totals>> per_op() const;
    /// kAllGood, or kSomethingFailed also where nothing ran.
    [[nodiscard]] int exit_code() const;
};

/// The table per op, and the last line "N passed, N failed, N skipped".
[[nodiscard]] std::string table(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);
[[nodiscard]] std::string to_junit(const Report& report);

}  // namespace plumb::cli
