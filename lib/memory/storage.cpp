#include <plumb/memory/storage.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <plumb/core/error.h>

namespace plumb {

namespace {

constexpr std::align_val_t kAlignment{64};

std::atomic<std::uint64_t> g_allocations{0};
std::atomic<std::size_t> g_limit{std::numeric_limits<std::size_t>::max()};

}  // namespace

Storage Storage::allocate(std::size_t bytes, MemorySpace space) {
    if (space != MemorySpace::host)
        throw EnvironmentError("Storage::allocate: memory space '" + std::string(name(space)) +
                               "' cannot be allocated in this build; allowed: 'host'");
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    if (bytes > g_limit.load(std::memory_order_relaxed)) throw std::bad_alloc();
    Storage storage;
    // Never null, so that an empty tensor's pointer can be handed to C interfaces as it is.
    storage.data_ = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
    storage.bytes_ = bytes;
    storage.space_ = space;
    storage.owned_ = true;
    return storage;
}

Storage Storage::adopt(void* data, std::size_t bytes, MemorySpace space, std::function<void()> deleter) {
    Storage storage;
    storage.data_ = static_cast<std::byte*>(data);
    storage.bytes_ = bytes;
    storage.space_ = space;
    storage.deleter_ = std::move(deleter);
    return storage;
}

Storage::Storage(Storage&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      space_(std::exchange(other.space_, MemorySpace::host)),
      owned_(std::exchange(other.owned_, false)),
      deleter_(std::exchange(other.deleter_, nullptr)) {}

Storage& Storage::operator=(Storage&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    space_ = std::exchange(other.space_, MemorySpace::host);
    owned_ = std::exchange(other.owned_, false);
    deleter_ = std::exchange(other.deleter_, nullptr);
    return *this;
}

Storage::~Storage() {
    release();
}

void Storage::release() noexcept {
    if (owned_) ::operator delete(data_, kAlignment);
    // Taken out first: a deleter that reaches this storage again finds nothing to delete.
    if (const auto deleter = std::exchange(deleter_, nullptr)) deleter();
    data_ = nullptr;
    bytes_ = 0;
    owned_ = false;
}

std::uint64_t allocation_count() noexcept {
    return g_allocations.load(std::memory_order_relaxed);
}

void set_allocation_limit(std::size_t bytes) noexcept {
    g_limit.store(bytes, std::memory_order_relaxed);
}

std::size_t allocation_limit() noexcept {
    return g_limit.load(std::memory_order_relaxed);
}

}  // namespace plumb
