/// AsyncDevice: the model of a device that works beside the host, for tests. Its memory is the host's, but not to be
/// read without a copy; each stream is a worker thread with a queue.
#pragma once

#include <functional>
#include <memory>

#include "runtime/device.hpp"
#include "runtime/stream_copies.hpp"

namespace diopi {

class AsyncDevice : public Device, public StreamCopies {
 public:
    AsyncDevice();
    /// Waits for all streams.
    ~AsyncDevice() override;
    AsyncDevice(const AsyncDevice&) = delete;
    AsyncDevice& operator=(const AsyncDevice&) = delete;

    /// Runs `task` on the stream's thread, after all enqueued work, like a kernel's launch. The stream
    /// null is the default stream. An exception out of a task is the stream's error from then on: its later tasks are
    /// dropped, and every synchronize() returns it. A task must not wait for a stream.
    virtual Status enqueue(diopiStreamHandle_t stream, std::function<void()> task);

    [[nodiscard]] std::string_view name() const override { return "async"; }
    [[nodiscard]] Result<DeviceInfo> info() override;
    [[nodiscard]] bool is_host() const override { return false; }
    /// Freeing the memory waits until every stream is idle, unless a task does it.
    [[nodiscard]] Result<std::shared_ptr<void>> allocate(size_t nbytes) override;
    Status copy_to_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    Status copy_to_host(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;
    [[nodiscard]] Result<diopiStreamHandle_t> create_stream() override;
    Status destroy_stream(diopiStreamHandle_t stream) override;
    Status synchronize(diopiStreamHandle_t stream) override;
    [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override;
    Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) override;

 private:
    class Stream;
    class Streams;
    class AsyncEvent;

    std::shared_ptr<Streams> streams_;
};

}  // namespace diopi
