#pragma once

#include <map>
#include <string>
#include <vector>

#include <plumb/context/comm_context.h>
#include <plumb/oracle/manifest.h>

#include "cli/job.h"

namespace plumb::cli {

/// The groups that cases act in, made when first asked for and kept. A case's `groups` count; its mesh and
/// mode say how to make them, where they do make them.
class Groups {
  public:
    explicit Groups(const Job& job) : job_(job) {}

    /// This rank's group of the case, of which it may be no member. Collective over the job. Throws the
    /// library's agreed error.
    [[nodiscard]] const Group& of(const oracle::Case& item);

  private:
    [[nodiscard]] CommContext& context(const std::string& mesh);
    [[nodiscard]] const Group* of_mode(const oracle::Case& item);

    const Job& job_;
    std::map<std::string, CommContext> contexts_;
    std::map<std::string, const Group*> found_;
};

}  // namespace plumb::cli
