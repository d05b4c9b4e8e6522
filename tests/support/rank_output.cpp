#include "support/rank_output.h"

#include <cstdio>
#include <sstream>

namespace plumb::test {

RankOutput::RankOutput(int rank) : prefix_("[rank " + std::to_string(rank) + "] "), stream_(this) {}

void RankOutput::note(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    kept_ += line + '\n';
}

void RankOutput::print() {
    std::istringstream lines;
    {
        const std::scoped_lock lock(mutex_);
        lines.str(kept_);
        kept_.clear();
    }
    std::string text;
    for (std::string line; std::getline(lines, line);)
        text += prefix_ + line + '\n';
    // One write, so that the launcher does not mix the lines of several ranks.
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
}

RankOutput::int_type RankOutput::overflow(int_type character) {
    if (!traits_type::eq_int_type(character, traits_type::eof())) {
        const std::scoped_lock lock(mutex_);
        kept_ += traits_type::to_char_type(character);
    }
    return traits_type::not_eof(character);
}

std::streamsize RankOutput::xsputn(const char* text, std::streamsize count) {
    const std::scoped_lock lock(mutex_);
    kept_.append(text, static_cast<std::size_t>(count));
    return count;
}

}  // namespace plumb::test
