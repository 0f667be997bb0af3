#include "queue.hpp"

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

class Stream {
 public:
    Stream() : thread_([this] { serve(); }) {}
    ~Stream() {
        {
            const std::lock_guard lock(mutex_);
            is_ending_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    void push(std::function<void()> work) {
        {
            const std::lock_guard lock(mutex_);
            queue_.push_back(std::move(work));
        }
        changed_.notify_all();
    }
    void drain() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.empty(); });
    }

 private:
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
            if (queue_.empty()) return;
            lock.unlock();
            queue_.front()();
            lock.lock();
            queue_.pop_front();
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    bool is_ending_ = false;
    std::thread thread_;
};

std::mutex g_mutex;
std::set<Stream*>& streams() {
    static auto* const all = new std::set<Stream*>;
    return *all;
}

/// The sizes of all blocks by address, and the free blocks by size.
std::map<void*, uint64_t>& sizes() {
    static auto* const all = new std::map<void*, uint64_t>;
    return *all;
}
std::map<uint64_t, std::vector<void*>>& free_blocks() {
    static auto* const all = new std::map<uint64_t, std::vector<void*>>;
    return *all;
}

Stream& stream_of(diopiStreamHandle_t handle) { return *static_cast<Stream*>(handle); }

}  // namespace

void enqueue(diopiStreamHandle_t stream, std::function<void()> work) { stream_of(stream).push(std::move(work)); }
void finish(diopiStreamHandle_t stream) { stream_of(stream).drain(); }

extern "C" {

/// Memory that was freed last is used first, with its old contents.
void* device_malloc(uint64_t bytes) {
    const uint64_t size = (bytes + 63) / 64 * 64;
    const std::lock_guard lock(g_mutex);
    const auto free = free_blocks().find(size);
    if (free != free_blocks().end() && !free->second.empty()) {
        void* memory = free->second.back();
        free->second.pop_back();
        return memory;
    }
    void* memory = std::aligned_alloc(64, size);
    if (memory == nullptr) return nullptr;
    sizes()[to_device(memory)] = size;
    return to_device(memory);
}

/// Waits for every stream, because one may still use the memory.
void device_free(void* memory) {
    const std::lock_guard lock(g_mutex);
    for (Stream* stream : streams()) stream->drain();
    free_blocks()[sizes().at(memory)].push_back(memory);
}

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    enqueue(stream, [=] { std::memcpy(to_host(dst), src, bytes); });
    return diopiSuccess;
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    enqueue(stream, [=] { std::memcpy(dst, to_host(src), bytes); });
    return diopiSuccess;
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
    enqueue(stream, [=] { std::memmove(to_host(dst), to_host(src), bytes); });
    return diopiSuccess;
}

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
    auto* made = new Stream;
    const std::lock_guard lock(g_mutex);
    streams().insert(made);
    *stream = made;
    return diopiSuccess;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
    {
        const std::lock_guard lock(g_mutex);
        streams().erase(&stream_of(stream));
    }
    delete &stream_of(stream);
    return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) {
    finish(stream);
    return diopiSuccess;
}

}  // extern "C"
