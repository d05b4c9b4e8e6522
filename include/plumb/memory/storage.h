#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <plumb/memory/space.h>

namespace plumb {

/// One owned stretch of memory. Move-only; frees (or calls the deleter) once.
class Storage {
  public:
    Storage() = default;

    /// Local. Uninitialised memory, aligned to 64 bytes; `bytes` may be 0.
    /// Throws std::bad_alloc, also when `allocation_limit()` would be passed.
    static Storage allocate(std::size_t bytes, MemorySpace space = MemorySpace::host);

    /// Local. Takes over foreign memory without a copy; `deleter` (may be empty) runs once, when the storage
    /// dies.
    static Storage adopt(void* data, std::size_t bytes, MemorySpace space, std::function<void()> deleter);

    Storage(Storage&& other) noexcept;
    Storage& operator=(Storage&& other) noexcept;
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
    [[nodiscard]] MemorySpace space() const noexcept { return space_; }

  private:
    void release() noexcept;

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    MemorySpace space_ = MemorySpace::host;
    bool owned_ = false;
    std::function<void()> deleter_;
};

/// Number of Storage::allocate calls of this process so far (tests use it to show that an op allocates
/// nothing).
[[nodiscard]] std::uint64_t allocation_count() noexcept;

/// Bytes that may be allocated in one Storage::allocate call; default: no limit. Tests lower it to make one
/// rank fail.
void set_allocation_limit(std::size_t bytes) noexcept;
[[nodiscard]] std::size_t allocation_limit() noexcept;

}  // namespace plumb
