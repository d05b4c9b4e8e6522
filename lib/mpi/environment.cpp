#include <plumb/mpi/environment.h>

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include <plumb/core/error.h>
#include <plumb/core/log.h>
#include <plumb/mpi/check.h>

namespace plumb::mpi {

namespace {

int to_mpi(ThreadLevel level) {
    switch (level) {
        case ThreadLevel::single:
            return MPI_THREAD_SINGLE;
        case ThreadLevel::funneled:
            return MPI_THREAD_FUNNELED;
        case ThreadLevel::serialized:
            return MPI_THREAD_SERIALIZED;
        case ThreadLevel::multiple:
            return MPI_THREAD_MULTIPLE;
    }
    return MPI_THREAD_SINGLE;
}

ThreadLevel from_mpi(int level) {
    if (level == MPI_THREAD_MULTIPLE) {
        return ThreadLevel::multiple;
    }
    if (level == MPI_THREAD_SERIALIZED) {
        return ThreadLevel::serialized;
    }
    return level == MPI_THREAD_FUNNELED ? ThreadLevel::funneled : ThreadLevel::single;
}

using Action = std::function<void()>;

/// What is to be done at the start of MPI_Finalize.
class FinalizeActions {
  public:
    static FinalizeActions& instance() {
        static auto& actions = *new FinalizeActions;  // never destroyed: registered by static objects too
        return actions;
    }
    void add(FinalizePhase phase, Action action) {
        const std::scoped_lock lock(lock_);
        of(phase).push_back(std::move(action));
    }
    std::optional<Action> take(FinalizePhase phase) {
        const std::scoped_lock lock(lock_);
        auto& actions = of(phase);
        if (actions.empty()) {
            return {};
        }
        Action last = std::move(actions.back());
        actions.pop_back();
        return last;
    }

  private:
    std::vector<Action>& of(FinalizePhase phase) { return phase == FinalizePhase::drain ? drain_ : release_; }

    std::mutex lock_;
    std::vector<Action> drain_;
    std::vector<Action> release_;
};

/// Throws what draining throws, with everything still in place. Releases all, even if one action throws;
/// rethrows the first failure at the end.
void run_finalize_actions() {
    auto& actions = FinalizeActions::instance();
    while (auto action = actions.take(FinalizePhase::drain)) {
        try {
            (*action)();
        } catch (...) {
            actions.add(FinalizePhase::drain, std::move(*action));
            throw;
        }
    }
    std::exception_ptr first;
    while (const auto action = actions.take(FinalizePhase::release)) {
        try {
            (*action)();
        } catch (...) {
            if (!first) {
                first = std::current_exception();
            }
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

// MPI deletes the attributes of MPI_COMM_SELF first thing in MPI_Finalize: the one place where a library
// learns of a finalise that the user calls.
int on_self_attribute_deleted(MPI_Comm, int, void*, void*) {
    try {
        run_finalize_actions();
    } catch (const std::exception& error) {
        // MPI libraries take no notice of a failing callback here, and would go on under live operations.
        log(LogLevel::error, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return MPI_SUCCESS;
}

void require_running_mpi() {
    const MpiState state = mpi_state();
    if (state != MpiState::running) {
        throw EnvironmentError(
            state == MpiState::finalised
                ? "MPI was finalised already"
                : "MPI is not initialised: make a plumb::mpi::Environment, or call MPI_Init_thread");
    }
}

}  // namespace

std::string_view name(ThreadLevel level) {
    switch (level) {
        case ThreadLevel::single:
            return "single";
        case ThreadLevel::funneled:
            return "funneled";
        case ThreadLevel::serialized:
            return "serialized";
        case ThreadLevel::multiple:
            return "multiple";
    }
    return "?";
}

MpiState mpi_state() noexcept {
    int flag = 0;
    MPI_Finalized(&flag);
    if (flag != 0) {
        return MpiState::finalised;
    }
    MPI_Initialized(&flag);
    return flag != 0 ? MpiState::running : MpiState::not_initialised;
}

Environment::Environment(ThreadLevel required) {
    start(nullptr, nullptr, required);
}

Environment::Environment(int& argc, char**& argv, ThreadLevel required) {
    start(&argc, &argv, required);
}

void Environment::start(int* argc, char*** argv, ThreadLevel required) {
    switch (mpi_state()) {
        case MpiState::finalised:
            throw EnvironmentError("MPI was finalised already and cannot be started again in this process");
        case MpiState::running:
            level_ = mpi::thread_level();
            break;
        case MpiState::not_initialised: {
            int provided = MPI_THREAD_SINGLE;
            const auto wanted = std::max(required, ThreadLevel::funneled);
            const int code = MPI_Init_thread(argc, argv, to_mpi(wanted), &provided);
            if (code != MPI_SUCCESS) {
                throw EnvironmentError(fmt::format("MPI_Init_thread failed with code {}", code));
            }
            started_ = true;
            level_ = from_mpi(provided);
        }
    }
    if (level_ < required) {
        const bool started = std::exchange(started_, false);
        const auto message = fmt::format(
            "MPI runs with thread level '{}', but '{}' is required; {}", name(level_), name(required),
            started ? "this MPI library offers no more" : "ask for it in your MPI_Init_thread");
        if (started) {
            MPI_Finalize();
        }
        throw EnvironmentError(message);
    }
}

Environment::Environment(Environment&& other) noexcept
    : level_(other.level_), started_(std::exchange(other.started_, false)) {}

Environment& Environment::operator=(Environment&& other) noexcept {
    std::swap(level_, other.level_);
    std::swap(started_, other.started_);
    return *this;
}

void Environment::finalize() {
    if (!started_ || mpi_state() != MpiState::running) {
        return;
    }
    run_finalize_actions();
    started_ = false;
    check(MPI_Finalize(), "MPI_Finalize", {});
}

Environment::~Environment() {
    try {
        finalize();
    } catch (const std::exception& error) {
        // Peers wait inside collectives that this process will never complete: end the job, do not hang it.
        log(LogLevel::error, error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

ThreadLevel thread_level() {
    require_running_mpi();
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread", world_caller());
    return from_mpi(level);
}

void require_usable_mpi() {
    const ThreadLevel level = thread_level();
    if (level >= ThreadLevel::serialized) {
        return;
    }
    int is_main = 0;
    check(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main", world_caller());
    if (is_main == 0) {
        throw EnvironmentError(fmt::format(
            "called from a thread other than the one that initialised MPI, which thread level '{}' forbids",
            name(level)));
    }
}

void at_finalize(FinalizePhase phase, std::function<void()> action) {
    static std::mutex lock;
    static bool attached = false;
    const std::scoped_lock guard(lock);
    if (!attached) {
        int key = MPI_KEYVAL_INVALID;
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_self_attribute_deleted, &key, nullptr),
              "MPI_Comm_create_keyval", world_caller());
        check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr", world_caller());
        check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval", world_caller());
        attached = true;
    }
    FinalizeActions::instance().add(phase, std::move(action));
}

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version", {});
    std::string version(text.data(), static_cast<std::size_t>(length));
    // Open MPI counts the terminating NUL.
    if (const auto end = version.find_first_of(std::string_view("\n\0", 2)); end != std::string::npos) {
        version.resize(end);
    }
    return version;
}

std::string standard_version() {
    int major = 0;
    int minor = 0;
    check(MPI_Get_version(&major, &minor), "MPI_Get_version", {});
    return fmt::format("{}.{}", major, minor);
}

}  // namespace plumb::mpi
