#include <doctest/doctest.h>

#include <plumb/mpi/counts.h>

#include "ops_halo/halos.h"

using namespace plumb;
using namespace plumb::test;

namespace {

/// How every rank lays out its shard: the `kind`-th of the layouts there are.
Layout layout_of(const HaloCase& each, int r, std::size_t kind) {
    return source_layouts(each.shard_shape(r))[kind];
}
constexpr std::size_t kRowMajor = 0;

void check_extended(const Tensor& output, const HaloCase& each, DType dtype, std::size_t kind) {
    check_elements(output, each.extended_shape(rank()), dtype, [&](Index index) {
        std::int64_t& at = index[static_cast<std::size_t>(each.place())];
        const Slice slice = source_slice(each, rank(), at);
        if (!exists(slice.rank)) {
            return Bytes(size_of(dtype));
        }
        at = slice.at;
        return shard_element(layout_of(each, slice.rank, kind), dtype, slice.rank, index);
    });
}

void check_exchange(const HaloCase& each, DType dtype, std::size_t kind, HaloImpl impl, const Group& group) {
    const std::string what = each.name();
    CAPTURE(what);
    CAPTURE(kind);
    const Layout layout = layout_of(each, rank(), kind);
    const Tensor x = shard(layout, dtype, rank());
    const Tensor output = cp_halo_exchange(x, each.left, each.right, each.dim, group, impl);
    check_extended(output, each, dtype, kind);
    CHECK(output.is_contiguous());
    CHECK_FALSE(output.shares_storage_with(x));
    check_untouched(x, layout, dtype);
    for (const Layout& place : distinct_layouts(each.extended_shape(rank()))) {
        const Tensor given = shard(place, dtype, rank() + 100);
        const Tensor same = cp_halo_exchange(given, x, each.left, each.right, each.dim, group, impl);
        CHECK(same.bytes() == given.bytes());
        check_extended(given, each, dtype, kind);
    }
}

}  // namespace

TEST_CASE("halo exchange: neighbours' edge slices around the own ones, zeros at the ends") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    for (const HaloImpl impl : kImpls) {
        CAPTURE(name(impl));
        for (const HaloCase& each : halo_cases()) {
            check_exchange(each, DType::f32, kRowMajor, impl, group);
        }
        for (const DType dtype : kAllDTypes) {
            check_exchange({{2, 3, 2}, 1, 2, 1, true}, dtype, kRowMajor, impl, group);
        }
        for (const HaloCase& each : {HaloCase{{2, 3, 2}, 1, 2, 1, true}, HaloCase{{3, 2}, 0, 2, 2}}) {
            for (std::size_t kind = 0; kind < source_layouts(each.shape).size(); ++kind) {
                check_exchange(each, DType::i16, kind, impl, group);
            }
        }
    }
}

TEST_CASE("halo exchange: in pieces where a message is too large") {
    const auto context = agreeing_context();
    const auto usual = mpi::count_limit();
    mpi::set_count_limit(5);
    for (const HaloImpl impl : kImpls) {
        for (const HaloCase& each : halo_cases()) {
            check_exchange(each, DType::c64, kRowMajor, impl, context.group(ParallelMode::global));
        }
    }
    mpi::set_count_limit(usual);
}

TEST_CASE("halo exchange: the same at the lower check levels") {
    for (const CheckLevel level : {CheckLevel::local, CheckLevel::off}) {
        const CommContext context(MPI_COMM_WORLD, flat_mesh(), level);
        for (const HaloImpl impl : kImpls) {
            for (const HaloCase& each : halo_cases()) {
                check_exchange(each, DType::f64, kRowMajor, impl, context.group(ParallelMode::global));
            }
        }
    }
}

TEST_CASE("halo exchange: neighbours are those of the group") {
    auto context = agreeing_context();
    std::vector<GlobalRank> reversed;
    for (int r = ranks() - 1; r >= 0; --r) {
        reversed.emplace_back(r);
    }
    const Group& group = context.init_group("reversed", reversed);
    const auto mine = static_cast<float>(rank() + 1);
    for (const HaloImpl impl : kImpls) {
        const auto out = cp_halo_exchange(Tensor::of<float>({1}, {mine}), 1, 1, 0, group, impl);
        const float before = rank() + 1 < ranks() ? mine + 1 : 0;
        const float after = mine - 1;
        CHECK(out.to_vector<float>() == std::vector<float>{before, mine, after});
    }
}
