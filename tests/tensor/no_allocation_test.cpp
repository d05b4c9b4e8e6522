#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include <plumb/tensor/block.h>

#include "tensor/layouts.h"

// Block moves run inside ops that promise to allocate nothing: in this program every allocation is counted.

namespace {

int allocations = 0;

void* counted(std::size_t bytes) {
    ++allocations;
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
    throw std::bad_alloc();
}

void* counted(std::size_t bytes, std::size_t alignment) {
    ++allocations;
    if (void* const memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment))
        return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
    return counted(bytes);
}
void* operator new[](std::size_t bytes) {
    return counted(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return counted(bytes, static_cast<std::size_t>(alignment));
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
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}

TEST_CASE("the counter counts") {
    const int before = allocations;
    const std::vector<int> some(100, 1);
    CHECK(some.size() == 100);
    CHECK(allocations > before);
}

TEST_CASE("block functions and views allocate nothing") {
    const std::vector<plumb::Shape> shapes = {{},       {5},         {0, 3},
                                              {70, 67}, {3, 40, 35}, {2, 2, 2, 2, 2, 2, 2, 2}};
    for (const plumb::DType dtype : plumb::kAllDTypes)
        for (const plumb::Shape& shape : shapes)
            for (const Layout& src : source_layouts(shape))
                for (const Layout& dst : distinct_layouts(shape)) {
                    const std::vector<std::byte> from = patterned(src, dtype);
                    std::vector<std::byte> to = patterned(dst, dtype);
                    std::vector<std::byte> packed(static_cast<std::size_t>(plumb::element_count(shape)) *
                                                  plumb::size_of(dtype));
                    const plumb::ConstView source = view_of(src, dtype, from.data());
                    const plumb::View target = view_of(dst, dtype, to.data());
                    int steps = 0;
                    const int before = allocations;
                    plumb::copy(target, source);
                    plumb::pack(packed.data(), source);
                    plumb::unpack(target, packed.data());
                    if (dtype != plumb::DType::boolean) plumb::add(target, source);
                    if (plumb::is_floating(dtype) || plumb::is_complex(dtype)) {
                        plumb::multiply(target, 3);
                        plumb::divide(target, 3);
                    }
                    plumb::fill_zero(target);
                    if (shape.ndim() > 1) {
                        steps += plumb::transpose(target, 0, 1).ndim();
                        steps += plumb::narrow(target, 0, 0, 0).ndim();
                        if (shape[0] > 1) steps += plumb::select(target, 0, 1).ndim();
                    }
                    steps += plumb::is_contiguous(source) ? 1 : 0;
                    steps += plumb::overlaps_itself(source) ? 1 : 0;
                    steps += plumb::overlap(source, target) ? 1 : 0;
                    const int made = allocations - before;
                    INFO(plumb::name(dtype), " ", plumb::to_string(shape), ": ", src.name, " to ", dst.name,
                         " ", steps);
                    REQUIRE(made == 0);
                }
}
