#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include <plumb/core/error.h>
#include <plumb/memory/storage.h>

#include "tensor/expect_error.h"

using plumb::MemorySpace;
using plumb::Storage;

TEST_CASE("allocated memory is aligned and writable") {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{100001}}) {
        const Storage storage = Storage::allocate(bytes);
        REQUIRE(storage.data() != nullptr);
        CHECK(storage.size() == bytes);
        CHECK(storage.space() == MemorySpace::host);
        CHECK(reinterpret_cast<std::uintptr_t>(storage.data()) % 64 == 0);
        std::memset(storage.data(), 0x5A, bytes);
        CHECK(storage.data()[bytes - 1] == std::byte{0x5A});
    }
    const Storage nothing = Storage::allocate(0);
    CHECK(nothing.size() == 0);
    CHECK(nothing.data() != nullptr);
}

TEST_CASE("a moved-from storage is empty") {
    Storage first = Storage::allocate(10);
    std::byte* const data = first.data();
    Storage second = std::move(first);
    CHECK(second.data() == data);
    CHECK(second.size() == 10);
    CHECK(first.data() == nullptr);  // NOLINT: that is the question
    CHECK(first.size() == 0);
    Storage third = Storage::allocate(20);
    third = std::move(second);
    CHECK(third.data() == data);
    CHECK(second.data() == nullptr);  // NOLINT
    Storage& same = third;
    third = std::move(same);
    CHECK(third.data() == data);
    CHECK(Storage().data() == nullptr);
}

TEST_CASE("a deleter runs once") {
    int calls = 0;
    int memory = 0;
    const auto adopt = [&] {
        return Storage::adopt(&memory, sizeof(memory), MemorySpace::host, [&] { ++calls; });
    };
    {
        Storage storage = adopt();
        CHECK(storage.data() == reinterpret_cast<std::byte*>(&memory));
        CHECK(storage.size() == sizeof(memory));
        Storage moved = std::move(storage);
        Storage again;
        again = std::move(moved);
        CHECK(calls == 0);
    }
    CHECK(calls == 1);
    {
        Storage storage = adopt();
        storage = Storage::allocate(1);
        CHECK(calls == 2);
    }
    CHECK(calls == 2);
    {
        const Storage kept = Storage::adopt(&memory, sizeof(memory), MemorySpace::cuda, {});
        CHECK(kept.space() == MemorySpace::cuda);
    }
    CHECK(calls == 2);
}

TEST_CASE("allocations are counted and can be limited") {
    CHECK(plumb::allocation_limit() == std::numeric_limits<std::size_t>::max());
    const std::uint64_t before = plumb::allocation_count();
    const Storage one = Storage::allocate(8);
    const Storage two = Storage::allocate(0);
    CHECK(plumb::allocation_count() == before + 2);
    const Storage adopted = Storage::adopt(one.data(), 8, MemorySpace::host, {});
    CHECK(plumb::allocation_count() == before + 2);

    plumb::set_allocation_limit(100);
    CHECK(plumb::allocation_limit() == 100);
    CHECK(Storage::allocate(100).size() == 100);
    CHECK_THROWS_AS(static_cast<void>(Storage::allocate(101)), std::bad_alloc);
    plumb::set_allocation_limit(std::numeric_limits<std::size_t>::max());
    CHECK(Storage::allocate(101).size() == 101);
}

TEST_CASE("only host memory can be allocated") {
    for (const MemorySpace space : {MemorySpace::sim, MemorySpace::cuda})
        expect_error<plumb::EnvironmentError>([&] { static_cast<void>(Storage::allocate(1, space)); },
                                              {"Storage::allocate", plumb::name(space), "allowed: 'host'"});
}
