#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <plumb/comm/async.h>
#include <plumb/context/comm_context.h>

#include "support/agreed_error.h"
#include "support/job.h"

/// What every `*_async` must keep, for any op. In all of it
///
///   start(const Group& group) makes its own tensors, calls the async op on `group`, and returns the handle:
///     whatever it made is dropped when it returns;
///   check(const Group& group, const T& result) judges what wait() returned on this rank.
///
/// Both run on every rank; `group` has all ranks of MPI_COMM_WORLD in order, at CheckLevel::agree. One call
/// of check_async_contract tests all but not_in_group and errors.
namespace plumb::test {

inline std::string flat_mesh() {
    return "data=" + std::to_string(ranks());
}

inline CommContext agreeing_context() {
    return {MPI_COMM_WORLD, flat_mesh(), CheckLevel::agree};
}

/// A message that Plumb knows nothing of: `from` tells all others to go on.
inline void let_others_go(int from) {
    constexpr int kTag = 4711;
    if (rank() != from) {
        MPI_Recv(nullptr, 0, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int r = 0; r < ranks(); ++r) {
        if (r != from) {
            MPI_Send(nullptr, 0, MPI_BYTE, r, kTag, MPI_COMM_WORLD);
        }
    }
}

/// Takes what was just freed from the heap and spoils it, so that reading dropped buffers shows.
inline void spoil_heap() {
    std::vector<std::vector<std::byte>> blocks;
    for (std::size_t size = 16; size <= 65536; size *= 2) {
        for (int i = 0; i < 8; ++i) {
            blocks.emplace_back(size, std::byte{0xA5});
            blocks.emplace_back(size + size / 2, std::byte{0xA5});
        }
    }
}

/// `first` calls, then sends a message that the others receive before their own call.
template <class Start, class Check>
void async_never_waits_for_peers(Start&& start, Check&& check) {
    auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const int first : {0, ranks() - 1}) {
        INFO("rank that calls first: ", first);
        if (rank() != first) {
            let_others_go(first);
        }
        auto handle = start(group);
        if (rank() == first) {
            let_others_go(first);
        }
        check(group, handle.wait());
        CHECK(handle.state() == AsyncState::done);
        check(group, handle.wait());  // waiting again gives the same
    }
}

/// Even ranks start on one group, then on the other; odd ranks the other way round.
template <class Start, class Check>
void async_groups_in_opposite_order(Start&& start, Check&& check) {
    const Group a(MPI_COMM_WORLD, "a", CheckLevel::agree);
    const Group b(MPI_COMM_WORLD, "b", CheckLevel::agree);
    const Group& first = rank() % 2 == 0 ? a : b;
    const Group& second = rank() % 2 == 0 ? b : a;
    auto early = start(first);
    auto late = start(second);
    check(first, early.wait());
    check(second, late.wait());

    auto again = start(first);
    auto more = start(second);
    check(second, more.wait());
    check(first, again.wait());
}

/// Several in flight on one group, waited for in any order, with nothing left of the caller's but handles.
template <class Start, class Check>
void async_owns_what_is_in_flight(Start&& start, Check&& check) {
    auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    auto one = start(group);
    spoil_heap();
    auto two = start(group);
    auto three = start(group);
    spoil_heap();
    check(group, three.wait());
    check(group, one.wait());
    auto moved = std::move(two);
    check(group, moved.wait());
}

/// Handles dropped unfinished, context destroyed; a handle may outlive the context.
template <class Start, class Check>
void async_dropped_handle(Start&& start, Check&& check) {
    auto context = agreeing_context();
    { auto dropped = start(context.group(ParallelMode::global)); }
    auto kept = start(context.group(ParallelMode::global));
    { auto dropped = start(context.group(ParallelMode::global)); }
    spoil_heap();
    context.destroy();
    CHECK(kept.state() == AsyncState::done);
    auto another = agreeing_context();
    const Group& group = another.group(ParallelMode::global);
    check(group, kept.wait());
    check(group, start(group).wait());
}

/// wait(timeout) on a rank whose peers have not called yet.
template <class Start, class Check>
void async_timeout(Start&& start, Check&& check) {
    if (ranks() == 1) {
        return;
    }
    auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const int first : {0, ranks() - 1}) {
        INFO("rank that calls first: ", first);
        if (rank() != first) {
            let_others_go(first);
            check(group, start(group).wait());
            continue;
        }
        auto handle = start(group);
        CHECK_FALSE(handle.test());
        for (int attempt = 0; attempt < 2; ++attempt) {
            std::string text;
            try {
                handle.wait(Seconds(0.02));
            } catch (const TimeoutError& error) {
                text = error.what();
            }
            CHECK_MESSAGE(text.find("group 'global'") != std::string::npos, "text: '" << text << "'");
            CHECK(text.find("rank " + std::to_string(first)) != std::string::npos);
            CHECK(handle.state() == AsyncState::pending);
        }
        let_others_go(first);
        check(group, handle.wait());
    }
}

template <class Start, class Check>
void check_async_contract(Start&& start, Check&& check) {
    {
        INFO("async never waits for peers");
        async_never_waits_for_peers(start, check);
    }
    {
        INFO("two groups in opposite order");
        async_groups_in_opposite_order(start, check);
    }
    {
        INFO("tensors dropped after the call");
        async_owns_what_is_in_flight(start, check);
    }
    {
        INFO("handle dropped, context destroyed");
        async_dropped_handle(start, check);
    }
    {
        INFO("wait with a timeout");
        async_timeout(start, check);
    }
}

/// Some ranks call `blocking(group)` (which returns what `check` judges), the others the async form.
template <class Blocking, class Start, class Check>
void check_blocking_meets_async(Blocking&& blocking, Start&& start, Check&& check) {
    auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const int odd : {0, 1}) {
        if (rank() % 2 == odd) {
            check(group, blocking(group));
        } else {
            check(group, start(group).wait());
        }
    }
}

/// A rank that is not in the group: `start` is given a group this rank is not a member of (so it must not
/// ask it for a rank). Returns what wait() gave, for the test to judge.
template <class Start>
auto result_outside_group(Start&& start) {
    const Group outside(MPI_COMM_NULL, "elsewhere");
    auto handle = start(outside);
    CHECK(handle.state() == AsyncState::not_in_group);
    CHECK(handle.test());
    return handle.wait();
}

/// An async call that is wrong on some rank throws nothing itself; its wait throws the same everywhere, and
/// the next call succeeds. Returns the text.
template <class Wrong, class Start, class Check>
std::string check_async_error(Wrong&& wrong, Start&& start, Check&& check) {
    auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    auto handle = wrong(group);
    auto next = start(group);
    std::string text;
    try {
        handle.wait();
    } catch (const AgreementError& error) {
        text = error.what();
    }
    CHECK_FALSE(text.empty());
    CHECK(handle.state() == AsyncState::failed);
    for (const std::string& other : gather_texts(text)) {
        CHECK(other == text);
    }
    check(group, next.wait());
    return text;
}

}  // namespace plumb::test
