#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "runtime/allocation_count.hpp"
#include "runtime/arena.hpp"
#include "runtime/cpu_info.hpp"
#include "runtime/device.hpp"

namespace diopi {

namespace {

constexpr size_t kAlignment = 64;
/// Blocks of this size and more are mapped by the kernel one by one: most of their pages may never be used.
constexpr size_t kLazyBytes = size_t{4} << 30;
/// Blocks of this size and more come from the arena, where freed pages are kept.
constexpr size_t kArenaBytes = size_t{1} << 20;
/// Freed pages that are kept from one case to the next: this share of the process's limit, or so many bytes without
/// one. The C allocator gets them back where it has no other memory; what a library maps itself must have room.
constexpr double kKeptShare = 0.75;
constexpr size_t kMostKept = size_t{4} << 30;

Error out_of_memory(size_t nbytes) {
    return failed("out of memory: " + std::to_string(nbytes) +
                  " bytes for a tensor; run fewer cases at a time (--jobs 1) or free memory");
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
    Result<DeviceInfo> info() override { return cpu_info(); }
    bool is_host() const override { return true; }

    Result<std::shared_ptr<void>> allocate(size_t nbytes) override {
        if (nbytes == 0) return std::shared_ptr<void>();
        if (nbytes > SIZE_MAX - kAlignment) return failed("cannot allocate " + std::to_string(nbytes) + " bytes");
        if (nbytes >= kLazyBytes) return map(nbytes);
        if (nbytes >= kArenaBytes && keeps_blocks_) return from_arena(nbytes);
        void* memory = std::aligned_alloc(kAlignment, (nbytes + kAlignment - 1) / kAlignment * kAlignment);
        if (memory == nullptr) return out_of_memory(nbytes);
        return std::shared_ptr<void>(memory, std::free);
    }

    bool give_back_blocks() { return arena_.give_back(); }
    void keep_blocks() { keeps_blocks_ = true; }
    void trim_blocks(size_t most) {
        rlimit limit = {};
        getrlimit(RLIMIT_DATA, &limit);
        const double share = kKeptShare * static_cast<double>(limit.rlim_cur);
        arena_.trim(std::min(most, limit.rlim_cur == RLIM_INFINITY ? kMostKept : static_cast<size_t>(share)));
    }

    Result<std::shared_ptr<void>> from_arena(size_t nbytes) {
        void* memory = arena_.allocate(nbytes);
        if (memory == nullptr) return out_of_memory(nbytes);
        return std::shared_ptr<void>(memory, [this, nbytes](void* p) { arena_.free(p, nbytes); });
    }

    /// Memory whose pages are allocated at their first use.
    Result<std::shared_ptr<void>> map(size_t nbytes) {
        const auto mapped = [nbytes] {
            return mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        };
        void* memory = mapped();
        if (memory == MAP_FAILED && arena_.give_back()) memory = mapped();
        if (memory == MAP_FAILED) return out_of_memory(nbytes);
        return std::shared_ptr<void>(memory, [nbytes](void* p) { munmap(p, nbytes); });
    }

    std::optional<int64_t> allocated_bytes() const override {
        return allocated_bytes_of_process() + static_cast<int64_t>(arena_.used_bytes());
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

 private:
    std::atomic<bool> keeps_blocks_ = false;
    Arena arena_;
};

CpuDevice& the_cpu() {
    // The device is never destroyed: tensors of other static objects may be freed later.
    static CpuDevice& device = *new CpuDevice;
    return device;
}

}  // namespace

Device& cpu_device() { return the_cpu(); }

void keep_freed_blocks() {
#ifndef __SANITIZE_ADDRESS__  // it knows only the ends of the C allocator's blocks
    the_cpu().keep_blocks();
#endif
}

void trim_freed_blocks(size_t most) { the_cpu().trim_blocks(most); }

bool give_back_freed_blocks() { return the_cpu().give_back_blocks(); }

}  // namespace diopi
