#include <doctest/doctest.h>

#include <cstdlib>

#include "ops_halo/halos.h"

using namespace plumb;
using namespace plumb::test;

// Run with PLUMB_CP_HALO_IMPL=collective: an own program, as the first look at the variable stands.
TEST_CASE("PLUMB_CP_HALO_IMPL is the implementation while nothing else was set") {
    REQUIRE(std::string(std::getenv("PLUMB_CP_HALO_IMPL")) == "collective");
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    const Tensor x = Tensor::zeros({2}, DType::f32);
    if (ranks() > 1) {
        const auto call = [&] {
            if (rank() == 0) {
                cp_halo_exchange(x, 1, 1, 0, group, HaloImpl::p2p);
            } else {
                cp_halo_exchange(x, 1, 1, 0, group);
            }
        };
        same_error_everywhere(call, {"impl is", "p2p on rank 0", "collective on"});
    }
    CHECK(get_cp_halo_impl() == HaloImpl::collective);
    set_cp_halo_impl(HaloImpl::p2p);
    CHECK(get_cp_halo_impl() == HaloImpl::p2p);
}
