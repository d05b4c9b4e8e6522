// Contexts and groups leave nothing behind: no communicator (MPI libraries have 65,536 ids or fewer) and no
// memory. The environment may say how many are made: PLUMB_TEST_CONTEXTS, each of 9 communicators, and
// PLUMB_TEST_GROUPS, each of 2; and PLUMB_TEST_MEMORY=unchecked, where a sanitizer holds freed memory back.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include <doctest/doctest.h>
#include <mpi.h>
#include <unistd.h>

#include <plumb/context/comm_context.h>

#include "mpi/expect.h"
#include "mpi/test_operation.h"

namespace {

using plumb::CommContext;
using plumb::Group;
using plumb::ParallelMode;
using plumb::test::expected_numbers;
using plumb::test::Numbers;
using plumb::test::rank;
using plumb::test::ranks;
using plumb::test::start;

int count_from(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

bool checks_memory() {
    const char* text = std::getenv("PLUMB_TEST_MEMORY");
    return text == nullptr || std::string(text) != "unchecked";
}

/// Resident memory in bytes.
std::int64_t resident() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0;
    std::int64_t pages = 0;
    file >> total >> pages;
    REQUIRE(pages > 0);
    return pages * sysconf(_SC_PAGESIZE);
}

void use(const Group& group) {
    Numbers::Call call;
    call.number = rank();
    const auto operation = start(group.channel(), call);
    plumb::mpi::wait(*operation);
    REQUIRE(operation->gathered() == expected_numbers(group.size(), 1, [](int r) { return r; }));
}

/// Runs `cycle` `count` times after a warm-up; less than 8 bytes per cycle may stay behind.
template <class Cycle>
void repeat(const std::string& what, int count, Cycle&& cycle) {
    for (int i = 0; i < count / 10; ++i) {
        cycle(i);
    }
    const auto before = resident();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
        cycle(i);
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    const auto growth = resident() - before;
    if (checks_memory()) {
        CHECK(growth < 1024 * 1024 + std::int64_t{8} * count);
    }
    MESSAGE(what << ": " << time.count() / count << " us per cycle, " << growth << " bytes more after "
                 << count);
}

TEST_CASE("contexts, made and destroyed") {
    const std::string mesh = "data=" + std::to_string(ranks());
    repeat("context", count_from("PLUMB_TEST_CONTEXTS", 70000), [&](int i) {
        CommContext context(mesh);
        if (i % 100 == 0) {
            use(context.group(ParallelMode::data));
        }
    });
}

TEST_CASE("groups, made and destroyed, with a dropped operation now and then") {
    repeat("group", count_from("PLUMB_TEST_GROUPS", 70000), [](int i) {
        const Group group(MPI_COMM_WORLD);
        if (i % 100 == 0) {
            use(group);
            start(group.channel(), {});
        }
    });
}

}  // namespace
