#include <plumb/ops/halo_impl.h>

#include <atomic>

#include <fmt/format.h>

#include <plumb/context/settings.h>
#include <plumb/core/error.h>

namespace plumb {

namespace {

/// What set_cp_halo_impl was given last.
std::atomic<int>& chosen_impl() {
    static std::atomic<int> impl = -1;
    return impl;
}

}  // namespace

std::string_view name(HaloImpl impl) {
    switch (impl) {
        case HaloImpl::p2p:
            return "p2p";
        case HaloImpl::collective:
            return "collective";
    }
    return "?";
}

HaloImpl halo_impl_from_name(std::string_view text) {
    for (const auto impl : {HaloImpl::p2p, HaloImpl::collective}) {
        if (text == name(impl)) {
            return impl;
        }
    }
    throw ArgumentError(fmt::format("halo implementation is '{}', allowed are p2p, collective", text));
}

void set_cp_halo_impl(HaloImpl impl) {
    chosen_impl() = static_cast<int>(impl);
}

HaloImpl get_cp_halo_impl() {
    if (chosen_impl() < 0) {
        int unset = -1;
        const auto impl = halo_impl_from_name(Settings::from_environment().halo_impl);
        chosen_impl().compare_exchange_strong(unset, static_cast<int>(impl));
    }
    return static_cast<HaloImpl>(chosen_impl().load());
}

}  // namespace plumb
