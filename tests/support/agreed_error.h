#pragma once

#include <doctest/doctest.h>
#include <mpi.h>

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <plumb/core/error.h>

namespace plumb::test {

/// The texts of all ranks of `comm`, in rank order. Collective over `comm`, which must not be one that Plumb
/// uses.
inline std::vector<std::string> gather_texts(const std::string& text, MPI_Comm comm = MPI_COMM_WORLD) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    const int length = static_cast<int>(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(size));
    MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm);
    std::vector<int> places;
    int total = 0;
    for (const int each : lengths) {
        places.push_back(total);
        total += each;
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, comm);
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
        texts.push_back(
            all.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
}

/// Runs `call` on every rank of `comm`; fails unless it throws AgreementError on every one of them, with the
/// same text everywhere. Returns the text (empty where there was none). Collective over `comm`.
template <class Call>
std::string same_error_everywhere(Call&& call, MPI_Comm comm = MPI_COMM_WORLD) {
    std::string text;
    std::string otherwise = "no error";
    try {
        call();
    } catch (const AgreementError& error) {
        text = error.what();
        CHECK_MESSAGE(!error.ranks().empty(), "no rank is named");
    } catch (const std::exception& error) {
        otherwise = std::string("another error: ") + error.what();
    }
    CHECK_MESSAGE(!text.empty(), "AgreementError expected, got " << otherwise);
    for (const std::string& other : gather_texts(text, comm)) {
        CHECK(other == text);
    }
    return text;
}

/// The same, and fails unless all of `parts` are in the text.
template <class Call>
std::string same_error_everywhere(Call&& call, std::initializer_list<std::string_view> parts,
                                  MPI_Comm comm = MPI_COMM_WORLD) {
    const std::string text = same_error_everywhere(call, comm);
    for (const std::string_view part : parts) {
        CHECK_MESSAGE(text.find(part) != std::string::npos,
                      "'" << std::string(part) << "' is not in: " << text);
    }
    return text;
}

}  // namespace plumb::test
