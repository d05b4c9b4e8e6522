#include <plumb/core/version.h>

#include "core/build_config.h"

namespace plumb {

const BuildInfo& build_info() noexcept {
    static constexpr BuildInfo kInfo{
        .version = kVersion,
        .compiler = build_config::kCompiler,
        .build_type = PLUMB_BUILD_TYPE,
        .library_kind = build_config::kLibraryKind,
        .sanitizers = build_config::kSanitizers,
        .mpi = build_config::kMpi,
    };
    return kInfo;
}

}  // namespace plumb
