#pragma once

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <mpi.h>

#include "support/job.h"

namespace plumb::test {

/// The text of the E that `action` throws; fails the test where it throws nothing or something else.
template <class E, class Action>
std::string message_of(Action&& action) {
    try {
        action();
    } catch (const E& error) {
        return error.what();
    } catch (const std::exception& error) {
        FAIL_CHECK("another exception: " << error.what());
        return {};
    }
    FAIL_CHECK("no exception");
    return {};
}

/// Every rank's text, by plain MPI. Collective over MPI_COMM_WORLD.
inline std::vector<std::string> texts_of_all_ranks(const std::string& mine) {
    const int size = static_cast<int>(mine.size());
    std::vector<int> sizes(static_cast<std::size_t>(ranks()));
    MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> places(sizes.size(), 0);
    int total = 0;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
        places[r] = total;
        total += sizes[r];
    }
    std::string joined(static_cast<std::size_t>(total), '\0');
    MPI_Allgatherv(mine.data(), size, MPI_CHAR, joined.data(), sizes.data(), places.data(), MPI_CHAR,
                   MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
        texts.push_back(
            joined.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(sizes[r])));
    }
    return texts;
}

/// Fails the test unless every rank has the same text. Collective over MPI_COMM_WORLD.
inline void check_same_on_all_ranks(const std::string& mine) {
    for (const auto& text : texts_of_all_ranks(mine)) {
        CHECK(text == mine);
    }
}

/// Passes a message without content from one rank to another, by plain MPI.
inline void signal(int from, int to) {
    if (rank() == from) {
        MPI_Send(nullptr, 0, MPI_BYTE, to, 7, MPI_COMM_WORLD);
    } else if (rank() == to) {
        MPI_Recv(nullptr, 0, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

}  // namespace plumb::test
