#include <plumb/ops/grad_mode.h>

#include <fmt/format.h>

#include <plumb/core/error.h>

namespace plumb {

std::string_view name(GradMode mode) {
    switch (mode) {
        case GradMode::replica_mean:
            return "replica_mean";
    }
    return "?";
}

GradMode grad_mode_from_name(std::string_view text) {
    if (text == name(GradMode::replica_mean)) {
        return GradMode::replica_mean;
    }
    throw ArgumentError(fmt::format("grad mode is '{}', allowed is replica_mean", text));
}

}  // namespace plumb
