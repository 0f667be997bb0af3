/// StreamCopies: an additional interface of some devices: copies inside their memory, in a stream's order, and pauses.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <optional>

#include "core/status.hpp"

namespace diopi {

/// How a stream is held: by pauses if the device has them, else by copies of `nbytes` that take `seconds` each. With
/// neither it cannot be held: its functions return when their work is done, or it has no copies.
struct CopyPace {
    size_t nbytes = 0;
    double seconds = 0;
    bool has_pauses = false;

    [[nodiscard]] bool can_hold() const { return nbytes > 0 || has_pauses; }
};

class StreamCopies {
 public:
    virtual ~StreamCopies() = default;
    /// Takes place in the stream's order; the caller does not wait. Not implemented where the device has no such copy.
    virtual Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) = 0;
    /// Work enqueued after it begins this much later, while the device does nothing for it; the caller does not wait.
    /// Not implemented where a stream can only be kept busy with copies.
    virtual Status pause(diopiStreamHandle_t /*stream*/, double /*seconds*/) {
        return not_implemented("the device's streams cannot be paused");
    }

    /// The result of HeldStream's measurement.
    std::optional<CopyPace> pace;
};

}  // namespace diopi
