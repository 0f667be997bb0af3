#include "runtime/block_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>

namespace diopi {

namespace {

constexpr size_t kPage = 4096;

void* map_pages(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

size_t BlockPool::rounded(size_t nbytes) {
    const size_t step = std::max(std::bit_floor(nbytes) / 8, kPage);
    return (nbytes + step - 1) / step * step;
}

void* BlockPool::allocate(size_t nbytes) {
    const size_t size = rounded(nbytes);
    const std::lock_guard lock(mutex_);
    void* memory = take_kept(size);
    if (memory == nullptr) {
        const size_t most = std::max(most_used_, used_ + size);
        while (!kept_.empty() && used_ + kept_size_ + size > most) release_oldest();
        memory = map_pages(size);
        while (memory == nullptr && !kept_.empty()) {
            release_oldest();
            memory = map_pages(size);
        }
    }
    if (memory == nullptr) return nullptr;
    used_ += size;
    most_used_ = std::max(most_used_, used_);
    return memory;
}

void BlockPool::free(void* memory, size_t nbytes) {
    const size_t size = rounded(nbytes);
    const std::lock_guard lock(mutex_);
    kept_.push_back({memory, size});
    kept_size_ += size;
    used_ -= size;
}

void BlockPool::release() {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty()) release_oldest();
}

size_t BlockPool::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_;
}

size_t BlockPool::kept_bytes() const {
    const std::lock_guard lock(mutex_);
    return kept_size_;
}

/// Takes the block that was freed last: a cache may still hold it.
void* BlockPool::take_kept(size_t size) {
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Block& b) { return b.size == size; });
    if (found == kept_.rend()) return nullptr;
    void* memory = found->memory;
    kept_.erase(std::next(found).base());
    kept_size_ -= size;
    return memory;
}

void BlockPool::release_oldest() {
    munmap(kept_.front().memory, kept_.front().size);
    kept_size_ -= kept_.front().size;
    kept_.erase(kept_.begin());
}

}  // namespace diopi
