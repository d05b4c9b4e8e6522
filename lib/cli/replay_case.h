#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <plumb/oracle/case_set.h>

#include "cli/case_run.h"
#include "cli/groups.h"
#include "cli/job.h"
#include "cli/report.h"

namespace plumb::cli {

/// Runs the cases of one case set on the library. Collective over the job, whose size is the cases' world.
class ReplayCase {
  public:
    ReplayCase(const Job& job, Groups& groups, const oracle::CaseSet& set)
        : job_(job), groups_(groups), set_(set) {}

    /// The same result on every rank but for the time.
    [[nodiscard]] CaseResult run(const oracle::Case& item);
    /// Whether a rank waited in vain: then peers may still be waiting, and nothing more can be run.
    [[nodiscard]] bool hung() const noexcept { return hung_; }

  private:
    /// What the ranks tell each other between the steps of a case.
    struct Step {
        bool ok = true;
        bool timed_out = false;
        std::uint64_t digest = 0;
    };
    [[nodiscard]] std::vector<Step> exchange(const Step& mine);

    void load(const oracle::Case& item);
    void run_values_case(const oracle::Case& item, const Group& group, CaseResult& result,
                         RankOutcome& outcome);
    void run_error_case(const oracle::Case& item, const Group& group, CaseResult& result,
                        RankOutcome& outcome);
    [[nodiscard]] Subject subject(const oracle::Case& item, const Group& group, std::size_t index) const;
    void collect(const RankOutcome& outcome, CaseResult& result);

    const Job& job_;
    Groups& groups_;
    const oracle::CaseSet& set_;
    bool hung_ = false;
    std::map<std::string, Tensor> tensors_;  ///< this rank's, by tensor_key
    oracle::Rule rule_;
};

}  // namespace plumb::cli
