#pragma once

#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>

namespace plumb::test {

/// Keeps what doctest prints on this rank until it is known whether anyone wants to read it.
/// All members may be called from any thread.
class RankOutput : private std::streambuf {
  public:
    explicit RankOutput(int rank);

    /// The stream that doctest writes to.
    [[nodiscard]] std::ostream& stream() { return stream_; }

    /// Adds one line of the harness's own.
    void note(const std::string& line);

    /// Prints everything kept so far, each line after "[rank r] ", and forgets it.
    void print();

  private:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize count) override;

    std::mutex mutex_;
    std::string kept_;
    std::string prefix_;
    std::ostream stream_;
};

}  // namespace plumb::test
