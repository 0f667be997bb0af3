#include "runtime/caching_allocator.hpp"

#include <algorithm>
#include <cassert>

namespace diopi {

namespace {

constexpr size_t kSmallStep = 512;
constexpr size_t kLargeStep = size_t{2} << 20;
constexpr size_t kLargeFrom = size_t{1} << 20;
/// A kept block serves requests down to this share of its size: one in two.
constexpr size_t kWaste = 2;

}  // namespace

size_t CachingAllocator::rounded(size_t nbytes) {
    const size_t step = nbytes >= kLargeFrom ? kLargeStep : kSmallStep;
    return nbytes > SIZE_MAX - step ? nbytes : (nbytes + step - 1) / step * step;
}

bool CachingAllocator::is_safe(uint64_t freed_at) const {
    if (drained_at_.size() <= 1) return true;
    return std::ranges::all_of(drained_at_, [&](const auto& stream) { return stream.second > freed_at; });
}

void* CachingAllocator::take_kept(size_t nbytes) {
    for (auto at = kept_.lower_bound(nbytes); at != kept_.end() && at->first <= nbytes * kWaste; ++at) {
        if (!is_safe(at->second.freed_at)) continue;
        void* memory = at->second.memory;
        statistics_.cached_bytes -= static_cast<int64_t>(at->first);
        used_[memory] = at->first;
        kept_.erase(at);
        return memory;
    }
    return nullptr;
}

Result<void*> CachingAllocator::allocate(size_t nbytes) {
    const std::lock_guard lock(mutex_);
    const size_t wanted = caching_ == Caching::kOn ? rounded(nbytes) : nbytes;
    void* memory = take_kept(wanted);
    ++(memory == nullptr ? statistics_.from_source : statistics_.from_cache);
    if (memory == nullptr) {
        auto fresh = source_.allocate(wanted);
        if (!fresh.ok() && !kept_.empty()) {
            release_locked();
            fresh = source_.allocate(wanted);
        }
        if (!fresh.ok()) return fresh;
        memory = *fresh;
        used_[memory] = wanted;
    }
    statistics_.used_bytes += static_cast<int64_t>(used_[memory]);
    statistics_.peak_used_bytes = std::max(statistics_.peak_used_bytes, statistics_.used_bytes);
    return memory;
}

void CachingAllocator::free(void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(memory);
    assert(found != used_.end());
    const auto nbytes = static_cast<int64_t>(found->second);
    kept_.emplace(found->second, Kept{memory, ++now_});
    used_.erase(found);
    statistics_.used_bytes -= nbytes;
    statistics_.cached_bytes += nbytes;
    if (caching_ == Caching::kOff) release_locked();
}

void CachingAllocator::stream_created(const void* stream) {
    const std::lock_guard lock(mutex_);
    // Blocks freed before this stream was created are safe for it once the other streams have been waited for.
    drained_at_[stream] = ++now_;
}

void CachingAllocator::stream_drained(const void* stream) {
    const std::lock_guard lock(mutex_);
    if (const auto found = drained_at_.find(stream); found != drained_at_.end()) found->second = ++now_;
}

void CachingAllocator::stream_destroyed(const void* stream) {
    const std::lock_guard lock(mutex_);
    drained_at_.erase(stream);
}

void CachingAllocator::release_cached() {
    const std::lock_guard lock(mutex_);
    release_locked();
}

void CachingAllocator::release_locked() {
    if (kept_.empty()) return;
    (void)source_.drain();  // an error of the device shows again with its next use
    for (const auto& [nbytes, kept] : kept_) source_.free(kept.memory);
    kept_.clear();
    statistics_.cached_bytes = 0;
}

AllocatorStatistics CachingAllocator::statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
}

}  // namespace diopi
