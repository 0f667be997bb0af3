#include "runtime/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace diopi {

namespace {

constexpr size_t kPage = 4096;
/// From this size on the kernel is asked for huge pages, which it clears with fewer faults.
constexpr size_t kHugeBytes = size_t{2} << 20;

std::byte* map_pages(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    return static_cast<std::byte*>(memory);
}

}  // namespace

size_t Arena::rounded(size_t nbytes) { return (nbytes + kPage - 1) / kPage * kPage; }

void* Arena::allocate(size_t nbytes) {
    const size_t size = rounded(nbytes);
    const std::lock_guard lock(mutex_);
    std::byte* memory = take_kept(size);
    if (memory == nullptr) {
        const size_t most = std::max(most_, used_ + size), wanted = used_ + kept_size_ + size;
        if (wanted > most) release(wanted - most);
        memory = map_pages(size);
        if (memory == nullptr) {
            release(kept_size_);
            memory = map_pages(size);
        }
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
    if (kept_size_ > kept) release(kept_size_ - kept);
    most_ = used_ + kept_size_;
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

/// Unmaps that many kept bytes, from the start of the lowest ranges: blocks are taken from the ends.
void Arena::release(size_t size) {
    while (size > 0) {
        auto range = kept_.extract(kept_.begin());
        const size_t part = std::min(size, range.mapped());
        munmap(range.key(), part);
        size -= part;
        kept_size_ -= part;
        range.key() += part;
        range.mapped() -= part;
        if (range.mapped() > 0) kept_.insert(std::move(range));
    }
}

}  // namespace diopi
