#include <plumb/mpi/agreement.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>

#include <plumb/core/error.h>
#include <plumb/mpi/channel.h>
#include <plumb/mpi/check.h>
#include <plumb/mpi/environment.h>
#include <plumb/mpi/handles.h>

namespace plumb::mpi {

namespace {

void combine_records(void* in, void* inout, int* length, MPI_Datatype*) {
    const auto* a = static_cast<const AgreementRecord*>(in);
    auto* b = static_cast<AgreementRecord*>(inout);
    for (int i = 0; i < *length; ++i, ++a, ++b) {
        b->smallest_hash = std::min(a->smallest_hash, b->smallest_hash);
        b->largest_hash = std::max(a->largest_hash, b->largest_hash);
        b->any_failed |= a->any_failed;
        b->pair_balance += a->pair_balance;
        for (std::size_t w = 0; w < kHeaderWords; ++w) {
            b->header[w] = std::max(a->header[w], b->header[w]);
        }
    }
}

/// The datatype and operator of the agreement, made once per process and freed at the start of MPI_Finalize.
struct AgreementTypes {
    Datatype record;
    Op combine;
};

const AgreementTypes& agreement_types() {
    static std::mutex making;
    static AgreementTypes types;
    const std::scoped_lock lock(making);
    if (!types.combine) {
        static_assert(sizeof(AgreementRecord) % sizeof(std::uint64_t) == 0);
        MPI_Datatype record = MPI_DATATYPE_NULL;
        check(MPI_Type_contiguous(static_cast<int>(sizeof(AgreementRecord) / sizeof(std::uint64_t)),
                                  MPI_UINT64_T, &record),
              "MPI_Type_contiguous", world_caller());
        types.record = Datatype(record);
        check(MPI_Type_commit(&record), "MPI_Type_commit", world_caller());
        MPI_Op combine = MPI_OP_NULL;
        check(MPI_Op_create(combine_records, /*commute=*/1, &combine), "MPI_Op_create", world_caller());
        types.combine = Op(combine);
        at_finalize(FinalizePhase::release, [] {
            types.combine.reset();
            types.record.reset();
        });
    }
    return types;
}

}  // namespace

AgreementRecord AgreementRecord::of(const Signature& signature, const Header& header) {
    return {signature.hash(), signature.hash(), signature.failed() ? 1U : 0U, signature.pair_balance(),
            header};
}

void post_agreement(const AgreementRecord& mine, AgreementRecord& combined, MPI_Comm comm,
                    MPI_Request* request, std::string_view group, GlobalRank rank) {
    const AgreementTypes& types = agreement_types();
    check(MPI_Iallreduce(&mine, &combined, 1, types.record.get(), types.combine.get(), comm, request),
          "MPI_Iallreduce", {group, rank});
}

std::vector<int> displacements(std::span<const int> sizes) {
    std::vector<int> places(sizes.size(), 0);
    for (std::size_t r = 1; r < places.size(); ++r) {
        places[r] = places[r - 1] + sizes[r - 1];
    }
    return places;
}

void agree(MPI_Comm comm, std::string_view group, std::span<const GlobalRank> ranks,
           const std::function<void(Signature&)>& describe) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", {group});
    const Caller caller{group, ranks[static_cast<std::size_t>(rank)]};
    const auto described = [&](Signature::Form form) {
        Signature signature(form, rank);
        try {
            describe(signature);
        } catch (const std::bad_alloc&) {
            signature.fail("out of memory");
        } catch (const std::exception& error) {
            signature.fail(error.what());
        }
        return signature;
    };
    struct Records {
        AgreementRecord mine;
        AgreementRecord combined;
    };
    const auto records = std::make_shared<Records>();
    records->mine = AgreementRecord::of(described(Signature::Form::hash), {});
    MPI_Request request = MPI_REQUEST_NULL;
    post_agreement(records->mine, records->combined, comm, &request, group, caller.rank);
    wait_for(request, records, "the agreement", caller);
    if (records->combined.agreed()) {
        return;
    }
    // All ranks have come: from here on, blocking calls wait for nobody.
    const std::string bytes = described(Signature::Form::text).serialise();
    const int size = static_cast<int>(bytes.size());
    std::vector<int> sizes(ranks.size());
    check(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm), "MPI_Allgather", caller);
    const std::vector<int> places = displacements(sizes);
    std::string all(static_cast<std::size_t>(places.back() + sizes.back()), '\0');
    check(
        MPI_Allgatherv(bytes.data(), size, MPI_CHAR, all.data(), sizes.data(), places.data(), MPI_CHAR, comm),
        "MPI_Allgatherv", caller);
    throw_disagreement(group, ranks, sizes, all);
}

}  // namespace plumb::mpi
