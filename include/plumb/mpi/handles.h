#pragma once

#include <utility>
#include <vector>

#include <mpi.h>

#include <plumb/mpi/environment.h>

namespace plumb::mpi {

/// A move-only owner of one MPI handle: frees it once, and not at all after MPI_Finalize. `Traits` names the
/// null handle and how to free.
template <class Traits>
class Owned {
  public:
    using Raw = typename Traits::Raw;

    Owned() = default;
    /// Takes over `raw`.
    explicit Owned(Raw raw) : raw_(raw) {}
    Owned(Owned&& other) noexcept : raw_(std::exchange(other.raw_, Traits::null())) {}
    Owned& operator=(Owned&& other) noexcept {
        if (this != &other) {
            reset();
            raw_ = std::exchange(other.raw_, Traits::null());
        }
        return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    ~Owned() { reset(); }

    [[nodiscard]] Raw get() const noexcept { return raw_; }
    [[nodiscard]] explicit operator bool() const noexcept { return raw_ != Traits::null(); }
    void reset() noexcept {
        if (raw_ != Traits::null() && mpi_state() == MpiState::running) {
            Traits::free(raw_);
        }
        raw_ = Traits::null();
    }

  private:
    Raw raw_ = Traits::null();
};

struct CommunicatorTraits {
    using Raw = MPI_Comm;
    static Raw null() noexcept { return MPI_COMM_NULL; }
    static void free(Raw& raw) noexcept;
};
struct DatatypeTraits {
    using Raw = MPI_Datatype;
    static Raw null() noexcept { return MPI_DATATYPE_NULL; }
    static void free(Raw& raw) noexcept { MPI_Type_free(&raw); }
};
struct ProcessGroupTraits {
    using Raw = MPI_Group;
    static Raw null() noexcept { return MPI_GROUP_NULL; }
    static void free(Raw& raw) noexcept { MPI_Group_free(&raw); }
};
struct OpTraits {
    using Raw = MPI_Op;
    static Raw null() noexcept { return MPI_OP_NULL; }
    static void free(Raw& raw) noexcept { MPI_Op_free(&raw); }
};

using Datatype = Owned<DatatypeTraits>;
using Op = Owned<OpTraits>;
using ProcessGroup = Owned<ProcessGroupTraits>;

/// An owned communicator with the error handler MPI_ERRORS_RETURN. Those that live when MPI is finalised are
/// freed then.
class Communicator : public Owned<CommunicatorTraits> {
  public:
    Communicator() = default;
    /// Takes over `raw` (may be MPI_COMM_NULL) and sets its error handler. Local.
    explicit Communicator(MPI_Comm raw);
    /// Collective over `other`; `other` and its error handler stay as they are.
    static Communicator duplicate(MPI_Comm other);

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
};

/// Each rank of `comm`, in order, as a rank of `reference`; MPI_UNDEFINED where it is none. Local.
[[nodiscard]] std::vector<int> ranks_within(MPI_Comm comm, MPI_Comm reference);

}  // namespace plumb::mpi
