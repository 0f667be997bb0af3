#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr size_t kAlignment = 64;
/// Blocks of at least this size are mapped in huge pages and kept when they are freed: fetching pages from the kernel
/// took a fifth of a conformance run.
constexpr size_t kLargeBlock = size_t{1} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
/// Freed large blocks that are kept, in bytes; the oldest give way.
constexpr size_t kKeptBytes = size_t{2} << 30;

/// Large blocks of memory, reused when one of nearly the size is free.
class LargeBlocks {
 public:
    void* allocate(size_t nbytes) {
        const size_t size = (nbytes + kHugePage - 1) / kHugePage * kHugePage;
        {
            const std::lock_guard lock(mutex_);
            auto best = free_.end();
            for (auto it = free_.begin(); it != free_.end(); ++it) {
                const bool fits = it->size >= size && it->size <= size + size / 4;
                if (fits && (best == free_.end() || it->size < best->size)) best = it;
            }
            if (best != free_.end()) {
                const Block block = *best;
                free_.erase(best);
                kept_ -= block.size;
                used_.emplace(block.memory, block.size);
                return block.memory;
            }
        }
        void* memory = std::aligned_alloc(kHugePage, size);
        if (memory == nullptr) {
            trim(0);
            memory = std::aligned_alloc(kHugePage, size);
        }
        if (memory == nullptr) return nullptr;
        madvise(memory, size, MADV_HUGEPAGE);
        const std::lock_guard lock(mutex_);
        used_.emplace(memory, size);
        return memory;
    }

    void release(void* memory) {
        {
            const std::lock_guard lock(mutex_);
            const auto found = used_.find(memory);
            free_.push_back({memory, found->second});
            kept_ += found->second;
            used_.erase(found);
        }
        trim(kKeptBytes);
    }

 private:
    struct Block {
        void* memory;
        size_t size;
    };

    /// Gives back the blocks that were freed first until no more than `limit` bytes are kept.
    void trim(size_t limit) {
        const std::lock_guard lock(mutex_);
        while (kept_ > limit) {
            kept_ -= free_.front().size;
            std::free(free_.front().memory);
            free_.erase(free_.begin());
        }
    }

    std::mutex mutex_;
    std::vector<Block> free_;
    std::unordered_map<void*, size_t> used_;
    size_t kept_ = 0;
};

LargeBlocks& large_blocks() {
    static auto* blocks = new LargeBlocks;  // never destroyed: tensors may outlive every static object
    return *blocks;
}

/// The CPU runs every kernel in the calling thread, so an event is a reading of the steady clock.
class CpuEvent final : public Event {
 public:
    Status record(diopiStreamHandle_t) override {
        time_ = std::chrono::steady_clock::now();
        return {};
    }
    Status synchronize() override { return {}; }
    Result<double> elapsed_ms_since(const Event& start) const override {
        const auto& other = static_cast<const CpuEvent&>(start);
        return std::chrono::duration<double, std::milli>(time_ - other.time_).count();
    }

 private:
    std::chrono::steady_clock::time_point time_;
};

class CpuDevice final : public Device {
 public:
    std::string_view name() const override { return "cpu"; }
    bool is_host() const override { return true; }

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (nbytes == 0) return std::shared_ptr<void>();
        if (nbytes > SIZE_MAX - kAlignment) return failed("cannot allocate " + std::to_string(nbytes) + " bytes");
        const bool large = nbytes >= kLargeBlock;
        void* memory = large ? large_blocks().allocate(nbytes)
                             : std::aligned_alloc(kAlignment, (nbytes + kAlignment - 1) / kAlignment * kAlignment);
        if (memory == nullptr) {
            return failed("out of memory: " + std::to_string(nbytes) +
                          " bytes for a tensor; run fewer cases at a time (--jobs 1) or free memory");
        }
        if (large) return std::shared_ptr<void>(memory, [](void* block) { large_blocks().release(block); });
        return std::shared_ptr<void>(memory, std::free);
    }

    Status copy_to_device(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        if (nbytes > 0) std::memcpy(dst, src, nbytes);
        return {};
    }
    Status copy_to_host(diopiStreamHandle_t, void* dst, const void* src, size_t nbytes) override {
        if (nbytes > 0) std::memcpy(dst, src, nbytes);
        return {};
    }

    /// A stream of the CPU is only an identity: work is done when the call returns.
    Result<diopiStreamHandle_t> create_stream() override { return static_cast<void*>(new char(0)); }
    Status destroy_stream(diopiStreamHandle_t stream) override {
        delete static_cast<char*>(stream);
        return {};
    }
    Status synchronize(diopiStreamHandle_t) override { return {}; }
    Result<std::unique_ptr<Event>> create_event() override { return std::unique_ptr<Event>(new CpuEvent); }
};

}  // namespace

Device& cpu_device() {
    static CpuDevice device;
    return device;
}

}  // namespace diopi
