// Contexts that cannot be made: the same error on every rank, and everything usable afterwards.
#include <plumb/context/comm_context.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include <plumb/core/error.h>

#include "mpi/expect.h"

namespace {

using plumb::AgreementError;
using plumb::ArgumentError;
using plumb::CheckLevel;
using plumb::CommContext;
using plumb::GlobalRank;
using plumb::Group;
using plumb::ParallelMode;
using plumb::test::check_same_on_all_ranks;
using plumb::test::message_of;
using plumb::test::rank;
using plumb::test::ranks;

constexpr const char* kAllowed =
    "allowed is a list such as data=2,sequence=4 of different axes among data, tensor, pipeline, sequence, "
    "context, expert, with sizes >= 1";

/// "ranks 0,1", "ranks 0-3".
std::string everyone() {
    return ranks() == 1 ? "rank 0" : ranks() == 2 ? "ranks 0,1" : "ranks 0-" + std::to_string(ranks() - 1);
}

std::string all_but_last() {
    return ranks() == 2 ? "rank 0" : ranks() == 3 ? "ranks 0,1" : "ranks 0-" + std::to_string(ranks() - 2);
}

std::string good_mesh() {
    return "data=" + std::to_string(ranks());
}

void check_usable() {
    CommContext context(good_mesh());
    CHECK(context.group(ParallelMode::data).size() == ranks());
}

/// The message of making a context over `mesh`: the same on all ranks.
std::string refusal(const std::string& mesh) {
    const auto text = message_of<AgreementError>([&] { const CommContext context(mesh); });
    check_same_on_all_ranks(text);
    check_usable();
    return text;
}

std::string prefix() {
    return "CommContext on group 'context' (" + everyone() + "): ";
}

/// An environment variable set on this rank for one scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~Variable() { unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
};

TEST_CASE("a mesh whose product is not the number of ranks") {
    const std::string mesh = "data=2,tensor=" + std::to_string(ranks());
    CHECK(refusal(mesh) == prefix() + everyone() + ": mesh is '" + mesh + "', whose product is " +
                               std::to_string(2 * ranks()) + ", but there are " + std::to_string(ranks()) +
                               " ranks");
}

TEST_CASE("a mesh that is none") {
    CHECK(refusal("data=1,data=" + std::to_string(ranks())) ==
          prefix() + everyone() + ": mesh is 'data=1,data=" + std::to_string(ranks()) +
              "': axis 'data' is named twice; " + kAllowed);
    CHECK(refusal("model=2") ==
          prefix() + everyone() + ": mesh is 'model=2': 'model' is not an axis; " + kAllowed);
    CHECK(refusal("data=0") == prefix() + everyone() + ": mesh is 'data=0': '0' is not a size; " + kAllowed);
    CHECK(refusal("") == prefix() + everyone() + ": mesh is '': '' is not axis=size; " + kAllowed);
}

TEST_CASE("a mesh that is wrong on one rank") {
    if (ranks() == 1) {
        return;
    }
    const bool last = rank() == ranks() - 1;
    const std::string who = "rank " + std::to_string(ranks() - 1);
    CHECK(refusal(last ? "nonsense" : good_mesh()) ==
          prefix() + who + ": mesh is 'nonsense': 'nonsense' is not axis=size; " + kAllowed);
    const std::string other = "sequence=" + std::to_string(ranks());
    CHECK(refusal(last ? other : good_mesh()) == prefix() + "the ranks disagree: mesh is " + good_mesh() +
                                                     " on " + all_but_last() + ", " + other + " on " + who);
}

TEST_CASE("the ranks named by the exception") {
    if (ranks() < 3) {
        return;
    }
    try {
        const CommContext context(rank() == 1 ? "sequence=" + std::to_string(ranks()) : good_mesh());
        FAIL_CHECK("no exception");
    } catch (const AgreementError& error) {
        CHECK(error.ranks() == std::vector<GlobalRank>{GlobalRank(1)});
    }
}

TEST_CASE("environment variables that differ, or that no one knows") {
    if (ranks() == 1) {
        return;
    }
    const bool last = rank() == ranks() - 1;
    const std::string who = "rank " + std::to_string(ranks() - 1);
    const auto refusal_with = [&](const char* name, const char* on_last, const char* elsewhere) {
        const Variable variable(name, last ? on_last : elsewhere);
        const auto text = message_of<AgreementError>([] { const CommContext context(good_mesh()); });
        check_same_on_all_ranks(text);
        return text;
    };
    CHECK(refusal_with("PLUMB_CHECK", "local", "agree") ==
          prefix() + "the ranks disagree: PLUMB_CHECK is agree on " + all_but_last() + ", local on " + who +
              "; check level is agree on " + all_but_last() + ", local on " + who);
    CHECK(refusal_with("PLUMB_CHECK", "maybe", "agree") ==
          prefix() + who + ": PLUMB_CHECK is 'maybe', allowed are off, local, agree");
    CHECK(refusal_with("PLUMB_CP_HALO_IMPL", "collective", "") ==
          prefix() + "the ranks disagree: PLUMB_CP_HALO_IMPL is unset on " + all_but_last() +
              ", collective on " + who);
    CHECK(refusal_with("PLUMB_CP_HALO_IMPL", "rdma", "p2p") ==
          prefix() + who + ": PLUMB_CP_HALO_IMPL is 'rdma', allowed are p2p, collective");
    CHECK(refusal_with("PLUMB_TIMEOUT", "-3", "") ==
          prefix() + who + ": PLUMB_TIMEOUT is '-3', allowed is a positive number of seconds");
    for (const char* name : {"PLUMB_TRANSPORT", "PLUMB_DEVICE_TRANSPORT", "PLUMB_CUDA_AWARE", "PLUMB_SIM_MPI",
                             "PLUMB_SHM_ARENA", "PLUMB_TIMEOUT"}) {
        const bool transport = name == std::string("PLUMB_TRANSPORT");
        const char* value = transport ? "mpi" : "1";
        CHECK(refusal_with(name, value, "") == prefix() + "the ranks disagree: " + name + " is unset on " +
                                                   all_but_last() + ", " + value + " on " + who);
    }
    check_usable();
}

TEST_CASE("the check level: PLUMB_CHECK, or the caller's word") {
    const auto level = [] {
        const CommContext context(good_mesh());
        return context.group(ParallelMode::data).check_level();
    };
    CHECK(level() == CheckLevel::agree);
    {
        const Variable variable("PLUMB_CHECK", "local");
        CHECK(level() == CheckLevel::local);
        CHECK(Group(MPI_COMM_WORLD).check_level() == CheckLevel::local);
        const CommContext context(MPI_COMM_WORLD, good_mesh(), CheckLevel::off);
        for (const auto mode : context.modes()) {
            CHECK(context.group(mode).check_level() == CheckLevel::off);
        }
        CHECK(Group(MPI_COMM_WORLD, "mine", CheckLevel::agree).check_level() == CheckLevel::agree);
    }
    {
        const Variable variable("PLUMB_CHECK", "off");
        CHECK(level() == CheckLevel::off);
    }
    {
        const Variable variable("PLUMB_CHECK", "");
        CHECK(level() == CheckLevel::agree);
    }
    if (ranks() > 1) {
        const auto wanted = rank() == 0 ? CheckLevel::off : CheckLevel::agree;
        const auto context_text = message_of<AgreementError>(
            [&] { const CommContext context(MPI_COMM_WORLD, good_mesh(), wanted); });
        const std::string rest = ranks() == 2   ? "rank 1"
                                 : ranks() == 3 ? "ranks 1,2"
                                                : "ranks 1-" + std::to_string(ranks() - 1);
        const std::string differ = "the ranks disagree: check level is off on rank 0, agree on " + rest;
        CHECK(context_text == prefix() + differ);
        const auto group_text =
            message_of<AgreementError>([&] { const Group group(MPI_COMM_WORLD, "mine", wanted); });
        CHECK(group_text == "Group on group 'mine' (" + everyone() + "): " + differ);
    }
}

TEST_CASE("communicators that cannot carry a context") {
    CHECK(message_of<ArgumentError>([] { const CommContext context(MPI_COMM_NULL, "data=1"); }) ==
          "comm is MPI_COMM_NULL, allowed is an intracommunicator");
    if (ranks() == 1) {
        return;
    }
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() == 0 ? 0 : 1, rank(), &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank() == 0 ? 1 : 0, 9, &between);
    CHECK(message_of<ArgumentError>([&] { const CommContext context(between, "data=1"); }) ==
          "comm is an intercommunicator, allowed is an intracommunicator");
    CHECK(message_of<ArgumentError>([&] { const Group group(between); }) ==
          "comm is an intercommunicator, allowed is an intracommunicator");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

}  // namespace
