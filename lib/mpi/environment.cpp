#include <plumb/mpi/environment.h>

#include <array>
#include <exception>
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

using Actions = std::vector<std::function<void()>>;

Actions& finalize_actions(FinalizePhase phase) {
    static std::array<Actions, 2> actions;
    return actions.at(phase == FinalizePhase::drain ? 0 : 1);
}

/// Runs every action even if an earlier one throws; rethrows the first failure at the end.
void run_finalize_actions() {
    std::exception_ptr first;
    for (const auto phase : {FinalizePhase::drain, FinalizePhase::release}) {
        Actions& actions = finalize_actions(phase);
        while (!actions.empty()) {
            const auto action = std::move(actions.back());
            actions.pop_back();
            try {
                action();
            } catch (...) {
                if (!first) {
                    first = std::current_exception();
                }
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
        log(LogLevel::error, error.what());
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
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
            const int code = MPI_Init_thread(argc, argv, to_mpi(required), &provided);
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
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread", world_caller());
    return from_mpi(level);
}

void require_usable_mpi() {
    const MpiState state = mpi_state();
    if (state != MpiState::running) {
        throw EnvironmentError(
            state == MpiState::finalised
                ? "MPI was finalised already"
                : "MPI is not initialised: make a plumb::mpi::Environment, or call MPI_Init_thread");
    }
    if (thread_level() >= ThreadLevel::serialized) {
        return;
    }
    int is_main = 0;
    check(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main", world_caller());
    if (is_main == 0) {
        throw EnvironmentError(fmt::format(
            "called from a thread other than the one that initialised MPI, which thread level '{}' forbids",
            name(thread_level())));
    }
}

void at_finalize(FinalizePhase phase, std::function<void()> action) {
    static bool attached = false;
    if (!attached) {
        int key = MPI_KEYVAL_INVALID;
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_self_attribute_deleted, &key, nullptr),
              "MPI_Comm_create_keyval", world_caller());
        check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr", world_caller());
        check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval", world_caller());
        attached = true;
    }
    finalize_actions(phase).push_back(std::move(action));
}

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version", {});
    std::string version(text.data(), static_cast<std::size_t>(length));
    if (const auto line_end = version.find('\n'); line_end != std::string::npos) {
        version.resize(line_end);
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
