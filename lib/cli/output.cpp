#include "cli/output.h"

#include <iostream>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/errors.h"

namespace plumb::cli {

Output::Output(const Job& job, const CommonOptions& options)
    : job_(job), verbose_(options.verbose), terminal_(job.leads() && ::isatty(STDERR_FILENO) != 0) {
    std::optional<std::string> problem;
    try {
        if (job.leads() && !options.json.empty()) json_.emplace(options.json);
        if (job.leads() && !options.junit.empty()) junit_.emplace(options.junit);
    } catch (const CannotRun& error) {
        problem = error.what();
    }
    job_.require_none(problem);
}

void Output::print(const std::string& text) const {
    if (!job_.leads()) return;
    clear_progress();
    std::cout << text << std::flush;
}

void Output::progress(std::size_t done, std::size_t all, const std::string& name) const {
    if (!terminal_) return;
    std::cerr << fmt::format("\r\033[K[{}/{}] {:.60}", done, all, name) << std::flush;
    line_shown_ = true;
}

void Output::clear_progress() const {
    if (std::exchange(line_shown_, false)) std::cerr << "\r\033[K" << std::flush;
}

void Output::print_case(const CaseResult& result) const {
    switch (result.status) {
        case Status::failed:
            print(fmt::format("FAILED {}: {}\n", result.id, describe(result)));
            break;
        case Status::skipped:
            if (verbose_) print(fmt::format("skipped {}: {}\n", result.id, describe(result)));
            break;
        case Status::passed:
            if (verbose_) print(fmt::format("passed {} ({:.3f} ms)\n", result.id, 1e3 * result.seconds));
            break;
    }
    if (!verbose_) return;
    for (std::size_t i = 1; i < result.findings.size(); ++i)
        print(fmt::format("       {}\n", describe(result.findings[i])));
}

void Output::finish(const Report& report) {
    print(table(report));
    write_files(json_ ? to_json(report) : "", junit_ ? to_junit(report) : "");
}

void Output::write_files(const std::string& json, const std::string& junit) {
    std::optional<std::string> problem;
    try {
        if (json_) json_->write(json);
        if (junit_) junit_->write(junit);
    } catch (const CannotRun& error) {
        problem = error.what();
    }
    job_.require_none(problem);
}

}  // namespace plumb::cli
