#include "runtime/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace diopi {

namespace {

constexpr size_t kPage = 4096;

void* reserve(size_t size) {
    return mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

}  // namespace

size_t Arena::rounded(size_t nbytes) { return (nbytes + kPage - 1) / kPage * kPage; }

void* Arena::allocate(size_t nbytes) {
    const size_t size = rounded(nbytes);
    const std::lock_guard lock(mutex_);
    std::byte* memory = take_kept(size);
    if (memory == nullptr) memory = map(size);
    if (memory == nullptr) {
        release(kept_size_);
        memory = map(size);
    }
    if (memory == nullptr) return nullptr;
    used_ += size;
    most_ = std::max(most_, used_);
    return memory;
}

void Arena::free(void* memory, size_t nbytes) {
    const size_t size = rounded(nbytes);
    const std::lock_guard lock(mutex_);
    keep(static_cast<std::byte*>(memory), size);
    used_ -= size;
}

void Arena::trim(size_t kept) {
    const std::lock_guard lock(mutex_);
    // The kernel takes back whole pages only.
    kept = kept / kPage * kPage;
    if (kept_size_ > kept) release(kept_size_ - kept);
    most_ = used_ + kept_size_;
}

bool Arena::give_back() {
    // The C allocator asks when it has no memory, perhaps for the arena itself.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || kept_size_ == 0) return false;
    release(kept_size_);
    return true;
}

size_t Arena::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_;
}

size_t Arena::kept_bytes() const {
    const std::lock_guard lock(mutex_);
    return kept_size_;
}

/// The end of the smallest range that is large enough.
std::byte* Arena::take_kept(size_t size) {
    auto best = kept_.end();
    for (auto range = kept_.begin(); range != kept_.end(); ++range) {
        if (range->second >= size && (best == kept_.end() || range->second < best->second)) best = range;
    }
    if (best == kept_.end()) return nullptr;
    std::byte* memory = best->first + (best->second - size);
    best->second -= size;
    if (best->second == 0) kept_.erase(best);
    kept_size_ -= size;
    return memory;
}

void Arena::keep(std::byte* start, size_t size) {
    kept_size_ += size;
    const auto next = kept_.lower_bound(start);
    if (next != kept_.end() && next->first == start + size) {
        size += next->second;
        kept_.erase(next);
    }
    const auto after = kept_.lower_bound(start);
    if (after != kept_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == start) {
            before->second += size;
            return;
        }
    }
    kept_.emplace(start, size);
}

/// A new range of addresses, with the kept pages as far as they go. No kept range was large enough: to give one back
/// and to let the kernel clear other pages takes much longer than to move pages.
std::byte* Arena::map(size_t size) {
    void* reserved = reserve(size);
    if (reserved == MAP_FAILED) return nullptr;
    auto* start = static_cast<std::byte*>(reserved);
    size_t filled = 0;
    while (filled < size && !kept_.empty()) {
        const auto [from, length] = *kept_.begin();
        const auto seam = seams_.upper_bound(from);
        const size_t whole = seam == seams_.end() ? length : std::min<size_t>(length, *seam - from);
        const size_t part = std::min(whole, size - filled);
        if (mremap(from, part, part, MREMAP_MAYMOVE | MREMAP_FIXED, start + filled) == MAP_FAILED) break;
        drop_front(part);
        seams_.insert(start + filled);
        filled += part;
    }
    if (filled == size) return start;
    if (mprotect(start + filled, size - filled, PROT_READ | PROT_WRITE) == 0) {
        seams_.insert(start + filled);
        return start;
    }
    munmap(start, size);
    return nullptr;
}

/// Forgets the first bytes of the lowest kept range, which are no longer mapped.
void Arena::drop_front(size_t size) {
    auto range = kept_.extract(kept_.begin());
    std::byte* start = range.key();
    seams_.erase(seams_.lower_bound(start), seams_.lower_bound(start + size));
    kept_size_ -= size;
    if (range.mapped() == size) return;
    range.key() = start + size;
    range.mapped() -= size;
    seams_.insert(start + size);
    kept_.insert(std::move(range));
}

/// Unmaps that many kept bytes, from the start of the lowest ranges: blocks are taken from the ends.
void Arena::release(size_t size) {
    while (size > 0) {
        const auto [start, length] = *kept_.begin();
        const size_t part = std::min(size, length);
        munmap(start, part);
        drop_front(part);
        size -= part;
    }
}

}  // namespace diopi
