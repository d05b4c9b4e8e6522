// Counts every C++ allocation of the process: called again with the same shapes, the form that writes into
// the caller's tensor makes none.

#include <cstdlib>
#include <new>

#include <doctest/doctest.h>

#include "ops_all_to_all/all_to_all_cases.h"
#include "support/async_contract.h"

namespace {
std::size_t allocations = 0;

void* counted(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) {
    return counted(size);
}
void* operator new[](std::size_t size) {
    return counted(size);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}

using namespace plumb;
using namespace plumb::test;

TEST_CASE("all_to_all into the caller's tensor allocates nothing from the second call on") {
    for (const CheckLevel level : {CheckLevel::agree, CheckLevel::local, CheckLevel::off}) {
        const CommContext context(MPI_COMM_WORLD, flat_mesh(), level);
        const Group& group = context.group(ParallelMode::global);
        const std::int64_t n = ranks();
        const Layout rows = make_layout("rows", {2 * n, 3 * n}, {0, 1}, 0, 1, 0, 0);
        const Layout columns = make_layout("columns", {2 * n, 3 * n}, {1, 0}, 0, 1, 0, 0);
        for (const Layout& layout : {rows, columns}) {
            for (const auto& [g, s] : {std::pair{0, 1}, {1, 0}}) {
                const Tensor x = filled_tensor(layout, DType::f32, rank());
                const Tensor y = all_to_all(x, g, s, group);
                const Tensor back = Tensor::zeros({2 * n, 3 * n}, DType::f32);
                // The first round makes the plans; what MPI or the lists of pending work grow by comes early
                // too.
                for (int warm = 0; warm < 3; ++warm) {
                    all_to_all(y, x, g, s, group);
                    all_to_all_backward(back, y, g, s, group);
                }
                const std::size_t before = allocations;
                const auto storage_before = allocation_count();
                for (int round = 0; round < 5; ++round) {
                    all_to_all(y, x, g, s, group);
                    all_to_all_backward(back, y, g, s, group);
                }
                CHECK(allocations - before == 0);
                CHECK(allocation_count() - storage_before == 0);
                check_redistributed(y, layout, DType::f32, g, s);
                CHECK(back.to_vector<float>().size() == x.to_vector<float>().size());
            }
        }
    }
}

TEST_CASE("a plan keeps no tensor of the caller's alive") {
    const auto context = agreeing_context();
    const Group& group = context.group(ParallelMode::global);
    int freed = 0;
    {
        std::vector<float> in(static_cast<std::size_t>(ranks()), 1.0F);
        std::vector<float> out(static_cast<std::size_t>(ranks()), 0.0F);
        const Tensor x = Tensor::from_foreign(in.data(), DType::f32, {ranks(), 1}, {1, 1}, [&] { ++freed; });
        const Tensor y = Tensor::from_foreign(out.data(), DType::f32, {1, ranks()}, {1, 1}, [&] { ++freed; });
        all_to_all(y, x, 1, 0, group);
        CHECK(freed == 0);
        CHECK_THROWS_AS(all_to_all(y, y, 1, 0, group), AgreementError);
    }
    CHECK(freed == 2);
}
