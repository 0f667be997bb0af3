/// HeldStream: a stream for checks. It is paused, or kept busy with useless copies, so that work enqueued after that
/// has not begun while a call is made.
#pragma once

#include <memory>
#include <optional>

#include "runtime/device.hpp"
#include "runtime/stream_copies.hpp"

namespace diopi {

class HeldStream {
 public:
    /// Null where no stream of the device can be held: it has no copies of its own, or they are complete when they
    /// return, so that no order of work could be seen either.
    [[nodiscard]] static Result<std::unique_ptr<HeldStream>> create(Device& device, diopiStreamHandle_t stream);

    /// Enqueues a pause, or copies of about this duration; returns at once.
    Status hold(double seconds);
    /// Reports the real duration of the last hold: the next ones have more copies, if they consist of copies.
    void lengthen(double seconds);
    /// Enqueues this copy inside of the device's memory.
    Status copy(void* dst, const void* src, size_t nbytes) {
        return copies_->copy_on_device(stream_, dst, src, nbytes);
    }
    [[nodiscard]] diopiStreamHandle_t stream() const { return stream_; }

 private:
    HeldStream(StreamCopies& copies, diopiStreamHandle_t stream) : copies_(&copies), stream_(stream) {}

    /// Enqueues `count` copies inside `scratch_`, of twice their size.
    Status enqueue(int64_t count, size_t nbytes);
    [[nodiscard]] Result<CopyPace> measure(Device& device);
    /// Nullopt where the device has no pauses.
    [[nodiscard]] Result<std::optional<CopyPace>> measure_pause(Device& device);
    [[nodiscard]] Result<CopyPace> measure_copies(Device& device);

    StreamCopies* copies_;
    diopiStreamHandle_t stream_;
    std::shared_ptr<void> scratch_;
    int64_t last_count_ = 0;
};

}  // namespace diopi
