#pragma once

#include <string>
#include <vector>

#include <plumb/mpi/agreement.h>

namespace plumb {

/// What the environment variables of Plumb say on this rank. All ranks of a context must agree on them.
struct Settings {
    mpi::CheckLevel check_level = mpi::CheckLevel::agree;  ///< PLUMB_CHECK
    std::string transport = "auto";                        ///< PLUMB_TRANSPORT: auto, mpi
    std::string halo_impl = "p2p";                         ///< PLUMB_CP_HALO_IMPL: p2p, collective

    /// Throws EnvironmentError naming the variable, its value and what is allowed.
    static Settings from_environment();
    /// Adds every setting to what the ranks agree on.
    void describe(mpi::Signature& signature) const;
};

}  // namespace plumb
