#pragma once

#include <cstdint>
#include <string_view>

namespace plumb {

/// How halos travel: by messages between neighbours, or by collectives in which every rank takes part. The
/// results are equal bit for bit.
enum class HaloImpl : std::uint8_t { p2p, collective };

/// "p2p", "collective".
[[nodiscard]] std::string_view name(HaloImpl impl);
/// Throws ArgumentError that lists what is allowed.
[[nodiscard]] HaloImpl halo_impl_from_name(std::string_view text);

/// The implementation of calls in this process that do not name one: what was set last, at first
/// PLUMB_CP_HALO_IMPL (default p2p). Local, but all ranks of a call must use the same. The getter throws
/// EnvironmentError while nothing was set and a variable of Plumb has a value that is not allowed.
void set_cp_halo_impl(HaloImpl impl);
[[nodiscard]] HaloImpl get_cp_halo_impl();

}  // namespace plumb
