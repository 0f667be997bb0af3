/// malloc and its kin, counted, and with a second try where memory can be given back: glibc's allocator, which offers
/// its functions under a second name to programs that define their own. With a sanitizer, which has an allocator of its
/// own, this file is empty.
#if !defined(__SANITIZE_ADDRESS__)

#include <malloc.h>

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "runtime/allocation_count.hpp"

extern "C" {
void* __libc_malloc(size_t size) noexcept;
void* __libc_calloc(size_t count, size_t size) noexcept;
void* __libc_realloc(void* memory, size_t size) noexcept;
void* __libc_memalign(size_t alignment, size_t size) noexcept;
void* __libc_valloc(size_t size) noexcept;
void* __libc_pvalloc(size_t size) noexcept;
void __libc_free(void* memory) noexcept;
}

namespace {

std::atomic<bool> counts = false;
std::atomic<int64_t> bytes = 0;
std::atomic<bool (*)()> give_back = nullptr;

bool is_counting() { return counts.load(std::memory_order_relaxed); }
void add(int64_t size) { bytes.fetch_add(size, std::memory_order_relaxed); }

/// With the allocator's own number in front of the memory.
int64_t size_of(void* memory) {
    return memory == nullptr ? 0 : static_cast<int64_t>(malloc_usable_size(memory) + sizeof(size_t));
}

/// Calls allocate(). If there is no memory for it, returns kept memory to the system and calls it again.
template <class Allocate>
void* tried_twice(Allocate allocate) {
    void* memory = allocate();
    if (memory != nullptr) return memory;
    const auto release = give_back.load(std::memory_order_relaxed);
    return release != nullptr && release() ? allocate() : nullptr;
}

template <class Allocate>
void* given(Allocate allocate) {
    void* memory = tried_twice(allocate);
    if (is_counting()) add(size_of(memory));
    return memory;
}

void start(bool (*release)()) {
    give_back = release;
    counts = true;
}

const diopi::AllocationCounter counter = {start, [] { return bytes.load(); }};
[[maybe_unused]] const bool is_offered = (diopi::offer_allocation_counter(counter), true);

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept {
    return given([=] { return __libc_malloc(size); });
}
void* calloc(size_t count, size_t size) noexcept {
    return given([=] { return __libc_calloc(count, size); });
}
void* memalign(size_t alignment, size_t size) noexcept {
    return given([=] { return __libc_memalign(alignment, size); });
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
    return given([=] { return __libc_memalign(alignment, size); });
}
void* valloc(size_t size) noexcept {
    return given([=] { return __libc_valloc(size); });
}
void* pvalloc(size_t size) noexcept {
    return given([=] { return __libc_pvalloc(size); });
}

int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
    if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
    const int before = errno;
    void* made = given([=] { return __libc_memalign(alignment, size); });
    errno = before;
    if (made == nullptr) return ENOMEM;
    *memory = made;
    return 0;
}

void* realloc(void* memory, size_t size) noexcept {
    if (!is_counting()) return __libc_realloc(memory, size);
    const int64_t before = size_of(memory);
    // A size of 0 frees the memory and gives none: a second call would free it again.
    const auto move = [=] { return __libc_realloc(memory, size); };
    void* moved = size == 0 ? move() : tried_twice(move);
    const bool is_freed = moved != nullptr || size == 0;
    add(size_of(moved) - (is_freed ? before : 0));
    return moved;
}

void free(void* memory) noexcept {
    if (is_counting()) add(-size_of(memory));
    __libc_free(memory);
}
}

#endif
