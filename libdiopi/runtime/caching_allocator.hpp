/// CachingAllocator: blocks of a device's memory that are kept when they are freed, because an allocation
/// by the device may stop all its work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "core/status.hpp"

namespace diopi {

/// The device functions below the allocator.
struct MemorySource {
    std::function<Result<void*>(size_t nbytes)> allocate;
    std::function<void(void* memory)> free;
    /// Waits until nothing that uses memory runs any more.
    std::function<Status()> drain;
};

struct AllocatorStatistics {
    int64_t used_bytes = 0;       ///< held by callers, rounded up where there is a cache
    int64_t cached_bytes = 0;     ///< freed by callers and kept
    int64_t peak_used_bytes = 0;  ///< the largest used_bytes so far
    int64_t from_cache = 0;       ///< requests that were served from a kept block
    int64_t from_source = 0;      ///< requests that went to the device
};

/// The additional interface of devices with such an allocator.
class AllocatorOwner {
 public:
    virtual ~AllocatorOwner() = default;
    [[nodiscard]] virtual AllocatorStatistics allocator_statistics() const = 0;
};

/// Whether freed blocks are kept.
enum class Caching { kOn, kOff };

/// Several threads may use it. A block is freed by the host while work that uses it may still be enqueued. With at most
/// one stream alive it is handed out again at once, because that stream's order keeps old and new work apart; with more
/// streams only after each of them has been waited for. With `Caching::kOff` the device gets every request with its
/// exact size, and freed blocks return to it when nothing runs any more: that is slow, but a tool that watches the
/// device's memory sees the bounds and the end of every block.
class CachingAllocator {
 public:
    explicit CachingAllocator(MemorySource source, Caching caching = Caching::kOn)
        : source_(std::move(source)), caching_(caching) {}
    ~CachingAllocator() { release_cached(); }
    CachingAllocator(const CachingAllocator&) = delete;
    CachingAllocator& operator=(const CachingAllocator&) = delete;

    /// A block of `nbytes` > 0 bytes. When the device has none left, what is kept goes back to it first.
    [[nodiscard]] Result<void*> allocate(size_t nbytes);
    void free(void* memory);

    /// A stream's life: it exists; it has been waited for; it has been waited for and is gone.
    void stream_created(const void* stream);
    void stream_drained(const void* stream);
    void stream_destroyed(const void* stream);

    /// Gives the kept blocks back to the device.
    void release_cached();
    [[nodiscard]] AllocatorStatistics statistics() const;

    /// Bytes that a request takes with a cache: a multiple of 512 bytes, from 1 MiB on of 2 MiB, so that blocks fit
    /// again.
    [[nodiscard]] static size_t rounded(size_t nbytes);

 private:
    struct Kept {
        void* memory;
        uint64_t freed_at;
    };

    [[nodiscard]] bool is_safe(uint64_t freed_at) const;
    [[nodiscard]] void* take_kept(size_t nbytes);
    void release_locked();

    MemorySource source_;
    Caching caching_;
    mutable std::mutex mutex_;
    std::multimap<size_t, Kept> kept_;            ///< keyed by size
    std::map<void*, size_t> used_;                ///< size of each block
    std::map<const void*, uint64_t> drained_at_;  ///< for each existing stream
    uint64_t now_ = 0;                            ///< counts frees and waits
    AllocatorStatistics statistics_;
};

}  // namespace diopi
