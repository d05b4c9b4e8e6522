#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace plumb::mpi {

/// MPI's thread levels, lowest first.
enum class ThreadLevel { single, funneled, serialized, multiple };
[[nodiscard]] std::string_view name(ThreadLevel level);

/// Whether MPI can be called now.
enum class MpiState { not_initialised, running, finalised };
[[nodiscard]] MpiState mpi_state() noexcept;

/// Starts MPI unless it runs already, and finalises it only if it started it. So the user may call MPI_Init
/// before or let Plumb do it; a user who calls MPI_Finalize while an Environment lives is served too:
/// whatever Plumb still holds is drained and freed at the start of MPI_Finalize (what does not complete
/// within PLUMB_TIMEOUT ends the job there). Move-only.
///
/// Constructor and destructor are collective over MPI_COMM_WORLD where they start or finalise MPI.
class Environment {
  public:
    /// Throws EnvironmentError if MPI was finalised already, or offers less than `required` (MPI is not
    /// finalised then if the user started it). Plumb itself is content with `single`, what a plain MPI_Init
    /// gives; where it starts MPI, it asks for `funneled` at least.
    explicit Environment(ThreadLevel required = ThreadLevel::single);
    Environment(int& argc, char**& argv, ThreadLevel required = ThreadLevel::single);
    Environment(Environment&& other) noexcept;
    Environment& operator=(Environment&& other) noexcept;
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment();

    /// Finalises now instead of in the destructor (if this Environment started MPI). Throws TimeoutError when
    /// operations that nobody waited for do not complete within PLUMB_TIMEOUT: then MPI still runs, and it
    /// may be called again.
    void finalize();

    [[nodiscard]] ThreadLevel thread_level() const noexcept { return level_; }
    [[nodiscard]] bool started_mpi() const noexcept { return started_; }

  private:
    void start(int* argc, char*** argv, ThreadLevel required);

    ThreadLevel level_ = ThreadLevel::single;
    bool started_ = false;
};

/// The level MPI runs with. Throws EnvironmentError unless it runs.
[[nodiscard]] ThreadLevel thread_level();

/// Throws EnvironmentError unless MPI runs and the calling thread may call it: below `serialized` only the
/// thread that initialised MPI may.
void require_usable_mpi();

/// First everything in flight is completed, then handles are freed.
enum class FinalizePhase { drain, release };

/// Runs `action` at the start of MPI_Finalize, whoever calls it; within a phase, later registrations run
/// first. An action of `drain` that throws stays registered, and nothing is released. MPI must be running.
void at_finalize(FinalizePhase phase, std::function<void()> action);

/// MPI standard version and the library's own version text, e.g. "Open MPI v4.1.4 …" (first line).
[[nodiscard]] std::string library_version();
[[nodiscard]] std::string standard_version();

}  // namespace plumb::mpi
