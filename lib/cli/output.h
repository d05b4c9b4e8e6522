#pragma once

#include <optional>
#include <string>

#include "cli/job.h"
#include "cli/options.h"
#include "cli/output_file.h"
#include "cli/report.h"

namespace plumb::cli {

/// What a command says while it works and at the end: lines and a table on standard output, progress where
/// standard error is a terminal, and the files asked for. Only the leading rank says anything.
class Output {
  public:
    /// Makes sure that the files can be written. Collective. Throws CannotRun on every rank.
    Output(const Job& job, const CommonOptions& options);

    void print(const std::string& text) const;
    void progress(std::size_t done, std::size_t all, const std::string& name) const;
    /// A line for a case that failed, or with -v for any.
    void print_case(const CaseResult& result) const;
    /// The table, and the files. Collective. Throws CannotRun on every rank.
    void finish(const Report& report);
    /// The files alone. Collective, as finish.
    void write_files(const std::string& json, const std::string& junit);

  private:
    void clear_progress() const;

    const Job& job_;
    bool verbose_;
    bool terminal_ = false;
    mutable bool line_shown_ = false;
    std::optional<OutputFile> json_;
    std::optional<OutputFile> junit_;
};

}  // namespace plumb::cli
