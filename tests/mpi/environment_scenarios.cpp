// MPI started and ended in every order that a program may choose. Each scenario is a process group of its
// own: it is named on the command line, and fails by its exit code.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include <plumb/context/comm_context.h>
#include <plumb/core/error.h>
#include <plumb/mpi/environment.h>

#include "mpi/test_operation.h"

namespace {

using plumb::CommContext;
using plumb::EnvironmentError;
using plumb::Group;
using plumb::ParallelMode;
using plumb::mpi::Environment;
using plumb::mpi::MpiState;
using plumb::mpi::ThreadLevel;
using plumb::test::expected_numbers;
using plumb::test::Numbers;
using plumb::test::start;

std::atomic<int> failures = 0;
int my_rank = -1;

void expect(bool condition, const std::string& what) {
    if (!condition) {
        ++failures;
        std::cerr << "[rank " + std::to_string(my_rank) + "] not so: " + what + "\n";
    }
}

void expect_equal(const std::string& got, const std::string& wanted) {
    expect(got == wanted, "'" + got + "' is '" + wanted + "'");
}

template <class E, class Action>
std::string message_of(Action&& action) {
    try {
        action();
    } catch (const E& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another exception: ") + error.what();
    }
    return "no exception";
}

int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

void learn_rank() {
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
}

std::string data_mesh() {
    return "data=" + std::to_string(world_size());
}

Numbers::Call a_call() {
    Numbers::Call call;
    call.number = 10 + my_rank;
    return call;
}

bool has_numbers(const Numbers& operation, int size) {
    return operation.gathered() == expected_numbers(size, 1, [](int r) { return 10 + r; });
}

/// A collective over `group` works, if this rank is in it.
void use(const Group& group) {
    const auto operation = start(group.channel(), a_call());
    plumb::mpi::wait(*operation);
    expect(has_numbers(*operation, group.size()), "an operation gathers all numbers");
}

constexpr const char* kNotInitialised =
    "MPI is not initialised: make a plumb::mpi::Environment, or call MPI_Init_thread";

// --- Who starts MPI ---

void user_first(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    learn_rank();
    {
        const Environment environment;
        expect(!environment.started_mpi(), "the user started MPI");
        expect(environment.thread_level() == plumb::mpi::thread_level(), "the level is MPI's");
        CommContext context(data_mesh());
        use(context.group(ParallelMode::data));
    }
    expect(plumb::mpi::mpi_state() == MpiState::running, "MPI runs on: the user started it");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    expect(plumb::mpi::mpi_state() == MpiState::finalised, "MPI is finalised");
}

void user_only(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    learn_rank();
    {
        CommContext context(data_mesh());
        use(context.group(ParallelMode::global));
    }
    MPI_Finalize();
}

void plumb_first(int argc, char** argv) {
    expect(plumb::mpi::mpi_state() == MpiState::not_initialised, "MPI is not initialised");
    {
        const Environment environment(argc, argv);
        learn_rank();
        expect(environment.started_mpi(), "Plumb started MPI");
        expect(environment.thread_level() >= ThreadLevel::funneled, "at least funneled");
        int initialised = 0;
        MPI_Initialized(&initialised);
        expect(initialised != 0, "MPI is initialised");
        CommContext context(data_mesh());
        use(context.group(ParallelMode::data));
    }
    expect(plumb::mpi::mpi_state() == MpiState::finalised, "Plumb finalised what it started");
    expect_equal(message_of<EnvironmentError>([] { const Environment again; }),
                 "MPI was finalised already and cannot be started again in this process");
    expect_equal(message_of<EnvironmentError>([] { const Group group(MPI_COMM_WORLD); }),
                 "MPI was finalised already");
}

void several_environments(int, char**) {
    Environment first;
    learn_rank();
    {
        const Environment second;
        expect(!second.started_mpi(), "only the first starts MPI");
    }
    expect(plumb::mpi::mpi_state() == MpiState::running, "the second does not finalise");
    {
        Environment moved(std::move(first));
        expect(moved.started_mpi() && !first.started_mpi(),
               "a move hands on the duty to finalise");  // NOLINT
        CommContext context(data_mesh());
        use(context.group(ParallelMode::data));
        first = std::move(moved);
        expect(first.started_mpi() && !moved.started_mpi(), "assignment too");  // NOLINT
    }
    expect(plumb::mpi::mpi_state() == MpiState::running, "the empty one does not finalise");
    first.finalize();
    expect(plumb::mpi::mpi_state() == MpiState::finalised, "finalize() does");
    first.finalize();
}

void before_init(int, char**) {
    expect_equal(message_of<EnvironmentError>([] { const Group group(MPI_COMM_WORLD); }), kNotInitialised);
    expect_equal(message_of<EnvironmentError>([] { const CommContext context("data=1"); }), kNotInitialised);
    expect_equal(message_of<EnvironmentError>([] { plumb::init_default_context("data=1"); }),
                 kNotInitialised);
    expect_equal(message_of<EnvironmentError>([] { static_cast<void>(plumb::mpi::thread_level()); }),
                 kNotInitialised);
    expect_equal(message_of<EnvironmentError>([] { plumb::mpi::require_usable_mpi(); }), kNotInitialised);
    expect(!plumb::has_default_context(), "no default context");
    expect(!plumb::mpi::progress(), "nothing to progress");
    const Environment environment;
    learn_rank();
    CommContext context(data_mesh());
    use(context.group(ParallelMode::data));
}

// --- Who ends MPI, and what is alive then ---

int communicators_freed = 0;
int on_freed(MPI_Comm, int, void*, void*) {
    ++communicators_freed;
    return MPI_SUCCESS;
}

/// Counts when MPI frees the communicators of `group`.
int watch(const Group& group, int key) {
    MPI_Comm_set_attr(group.communicator(), key, nullptr);
    MPI_Comm_set_attr(group.channel()->agreement(), key, nullptr);
    return 2;
}

/// The user finalises while contexts, groups and operations in flight are alive; the peers are late.
void user_finalizes_under_plumb(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    learn_rank();
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_freed, &key, nullptr);
    const int size = world_size();

    CommContext context(data_mesh());
    const std::vector<plumb::GlobalRank> one{plumb::GlobalRank(0)};
    const Group& only_first = context.init_group("first", one);
    Group group(MPI_COMM_WORLD);
    plumb::init_default_context(data_mesh());
    int watched = watch(group, key) + watch(plumb::default_context().group(ParallelMode::data), key);
    for (const auto mode : context.modes()) {
        watched += watch(context.group(mode), key);
    }
    if (only_first.is_member()) {
        watched += watch(only_first, key);
    }

    if (my_rank != 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
    const auto held = start(group.channel(), a_call());
    start(group.channel(), a_call());  // dropped
    const auto in_default = start(plumb::default_context().group(ParallelMode::data).channel(), a_call());
    const auto in_context = start(context.group(ParallelMode::global).channel(), a_call());
    MPI_Comm_free_keyval(&key);  // lives on while communicators use it
    MPI_Finalize();

    expect(communicators_freed == watched,
           std::to_string(communicators_freed) + " communicators are freed, of " + std::to_string(watched));
    for (const auto& operation : {held, in_default, in_context}) {
        expect(operation->finished(), "what was in flight is complete");
        plumb::mpi::wait(*operation);
        expect(has_numbers(*operation, size), "and its result is there");
    }
    expect(!plumb::has_default_context(), "the default context is destroyed");
    context.destroy();
    group.destroy();
}

/// Objects outlive the Environment that finalises.
void environment_first(int, char**) {
    std::optional<CommContext> context;
    std::optional<Group> group;
    std::shared_ptr<Numbers> held;
    int size = 0;
    {
        const Environment environment;
        learn_rank();
        size = world_size();
        context.emplace(data_mesh());
        group.emplace(MPI_COMM_WORLD, "mine");
        if (my_rank != 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        held = start(group->channel(), a_call());
        start(context->group(ParallelMode::data).channel(), a_call());
    }
    expect(held->finished(), "complete");
    plumb::mpi::wait(*held);
    expect(has_numbers(*held, size), "the result is there");
    expect(context->coordinates(plumb::GlobalRank(size - 1)) == std::vector<int>{size - 1}, "coordinates");
    expect_equal(message_of<EnvironmentError>([&] { start(group->channel(), a_call()); }),
                 "MPI was finalised already");
    expect_equal(message_of<EnvironmentError>([&] { context->init_group("late", {}); }),
                 "MPI was finalised already");
}

/// PLUMB_TIMEOUT is short: what rank 0 has in flight is not complete when it wants to finalise.
void finalize_times_out(int, char**) {
    Environment environment;
    learn_rank();
    plumb::init_default_context(data_mesh());
    const Group& group = plumb::default_context().group(ParallelMode::data);
    if (my_rank == 0) {
        start(group.channel(), a_call());
        const std::string ranks = world_size() == 2 ? "0,1" : "0-" + std::to_string(world_size() - 1);
        const auto text = message_of<plumb::TimeoutError>([&] { environment.finalize(); });
        expect_equal(text, "group 'data' (ranks " + ranks +
                               "), rank 0: operations that nobody waited for are not complete after 0.3 s");
        expect(plumb::mpi::mpi_state() == MpiState::running, "MPI runs on");
        expect(plumb::has_default_context(), "nothing is released");
    }
    plumb::mpi::set_default_timeout(plumb::mpi::Seconds(30));
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank != 0) {
        start(group.channel(), a_call());
    }
    use(group);
    environment.finalize();
    expect(plumb::mpi::mpi_state() == MpiState::finalised, "the second time it works");
}

/// A group whose last owner ran out of time is completed by finalising.
void parked_group(int, char**) {
    const Environment environment;
    learn_rank();
    {
        std::optional<Group> group(std::in_place, MPI_COMM_WORLD, "parked");
        const auto channel = std::weak_ptr<plumb::mpi::Channel>(group->channel());
        if (my_rank == 0) {
            start(group->channel(), a_call());
            group.reset();
            expect(!channel.expired(), "parked");
        }
        MPI_Barrier(MPI_COMM_WORLD);
        plumb::mpi::set_default_timeout(plumb::mpi::Seconds(30));
        if (my_rank != 0) {
            start(group->channel(), a_call());
        }
    }
    plumb::mpi::progress();
}

/// The same where the user finalises: the job ends, and says why.
void user_finalize_times_out(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    learn_rank();
    const Group group(MPI_COMM_WORLD, "late");
    if (my_rank == 0) {
        start(group.channel(), a_call());
        MPI_Finalize();
        expect(false, "MPI_Finalize returned under an operation in flight");
    } else {
        std::this_thread::sleep_for(std::chrono::seconds(30));
        expect(false, "the job was ended");
    }
}

void bad_timeout(int, char**) {
    const Environment environment;
    learn_rank();
    const int last = world_size() - 1;
    if (my_rank == last) {
        setenv("PLUMB_TIMEOUT", "soon", 1);
    }
    const std::string wanted =
        "(ranks 0,1): rank 1: PLUMB_TIMEOUT is 'soon', allowed is a positive number of seconds";
    expect_equal(message_of<plumb::AgreementError>([] { const CommContext context(data_mesh()); }),
                 "CommContext on group 'context' " + wanted);
    expect_equal(message_of<plumb::AgreementError>([] { const Group group(MPI_COMM_WORLD); }),
                 "Group on group 'user' " + wanted);
    unsetenv("PLUMB_TIMEOUT");
    CommContext context(data_mesh());
    use(context.group(ParallelMode::data));
}

/// A peer that does not come to the making of a group in time. What was posted then is MPI's until it does.
void creation_times_out(int, char**) {
    const Environment environment;
    learn_rank();
    if (my_rank == 0) {
        expect_equal(
            message_of<plumb::TimeoutError>([] { const Group group(MPI_COMM_WORLD, "mine"); }),
            "Group on group 'mine', rank 0: not complete after 0.3 s, still waiting for all ranks to make "
            "the call");
        MPI_Send(nullptr, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        for (int i = 0; i < 20; ++i) {
            plumb::mpi::progress();
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    } else {
        MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Request late = MPI_REQUEST_NULL;
        MPI_Ibarrier(MPI_COMM_WORLD, &late);
        MPI_Wait(&late, MPI_STATUS_IGNORE);
    }
}

// --- Threads ---

void level_too_low(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    learn_rank();
    expect(provided == MPI_THREAD_FUNNELED, "MPI gives what was asked for");
    expect_equal(message_of<EnvironmentError>([] { const Environment environment(ThreadLevel::multiple); }),
                 "MPI runs with thread level 'funneled', but 'multiple' is required; ask for it in your "
                 "MPI_Init_thread");
    expect(plumb::mpi::mpi_state() == MpiState::running, "the user's MPI runs on");
    {
        const Environment environment(ThreadLevel::funneled);
        CommContext context(data_mesh());
        use(context.group(ParallelMode::data));
    }
    MPI_Finalize();
}

void other_thread(int, char**) {
    const Environment environment(ThreadLevel::funneled);
    learn_rank();
    if (environment.thread_level() != ThreadLevel::funneled) {
        return;
    }
    Group group(MPI_COMM_WORLD);
    std::shared_ptr<Numbers> pending;
    if (my_rank == 0) {
        pending = start(group.channel(), a_call());
    }
    std::thread([&] {
        const std::string wanted =
            "called from a thread other than the one that initialised MPI, which thread level 'funneled' "
            "forbids";
        expect_equal(message_of<EnvironmentError>([] { const Group other(MPI_COMM_WORLD); }), wanted);
        expect_equal(message_of<EnvironmentError>([] { const CommContext other("data=1"); }), wanted);
        expect_equal(message_of<EnvironmentError>([&] { start(group.channel(), a_call()); }), wanted);
        if (my_rank == 0 && group.size() > 1) {
            expect_equal(message_of<EnvironmentError>([&] { plumb::mpi::wait(*pending); }), wanted);
            expect_equal(message_of<EnvironmentError>([] { plumb::mpi::progress(); }), wanted);
        }
    }).join();
    if (my_rank != 0) {
        pending = start(group.channel(), a_call());
    }
    plumb::mpi::wait(*pending);
    expect(has_numbers(*pending, group.size()), "the main thread goes on");
    std::thread([&] {
        expect_equal(message_of<EnvironmentError>([&] { plumb::mpi::wait(*pending); }), "no exception");
    }).join();
}

/// Two threads, each with groups of its own that it makes, uses and destroys.
void two_threads(int, char**) {
    const Environment environment(ThreadLevel::multiple);
    learn_rank();
    std::vector<MPI_Comm> comms(2, MPI_COMM_NULL);
    for (auto& comm : comms) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
    const auto work = [&](MPI_Comm comm, const std::string& name) {
        for (int round = 0; round < 10; ++round) {
            Group group(comm, name);
            std::vector<std::shared_ptr<Numbers>> operations;
            for (int op = 0; op < 30; ++op) {
                auto call = a_call();
                call.steps = 1 + op % 2;
                if (op % 10 == 5 && my_rank == 0) {
                    call.prepare_fails = "wrong in " + name;
                }
                operations.push_back(start(group.channel(), call));
            }
            for (std::size_t op = 0; op < operations.size(); ++op) {
                if (op % 10 == 5) {
                    const auto text =
                        message_of<plumb::AgreementError>([&] { plumb::mpi::wait(*operations[op]); });
                    expect(text.find("rank 0: wrong in " + name) != std::string::npos,
                           "the thread's own error");
                } else {
                    plumb::mpi::wait(*operations[op]);
                    expect(operations[op]->gathered() == expected_numbers(group.size(),
                                                                          1 + static_cast<int>(op) % 2,
                                                                          [](int r) { return 10 + r; }),
                           "numbers of " + name);
                }
            }
            start(group.channel(), a_call());  // dropped
        }
    };
    std::thread other(work, comms[1], "other");
    work(comms[0], "main");
    other.join();
    for (auto& comm : comms) {
        MPI_Comm_free(&comm);
    }
}

using Scenario = void (*)(int, char**);

const std::map<std::string, Scenario>& scenarios() {
    static const std::map<std::string, Scenario> all{
        {"user_first", user_first},
        {"user_only", user_only},
        {"plumb_first", plumb_first},
        {"several_environments", several_environments},
        {"before_init", before_init},
        {"user_finalizes_under_plumb", user_finalizes_under_plumb},
        {"environment_first", environment_first},
        {"finalize_times_out", finalize_times_out},
        {"parked_group", parked_group},
        {"user_finalize_times_out", user_finalize_times_out},
        {"bad_timeout", bad_timeout},
        {"creation_times_out", creation_times_out},
        {"level_too_low", level_too_low},
        {"other_thread", other_thread},
        {"two_threads", two_threads},
    };
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    const auto scenario = scenarios().find(argc > 1 ? argv[1] : "");
    if (scenario == scenarios().end()) {
        std::cerr << "no such scenario\n";
        return 2;
    }
    try {
        scenario->second(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "[rank " << my_rank << "] unexpected: " << error.what() << '\n';
        std::_Exit(1);
    }
    // Every scenario ends MPI.
    expect(plumb::mpi::mpi_state() == MpiState::finalised, "MPI is finalised at the end");
    return failures == 0 ? 0 : 1;
}
