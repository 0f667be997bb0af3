/// StreamCopies: what some devices have beside Device: copies inside their memory, in a stream's order.
#pragma once

#include <diopi/diopirt.h>

#include <cstddef>
#include <optional>

#include "core/status.hpp"

namespace diopi {

/// How fast a stream copies: `seconds` for each copy of `nbytes`. 0 bytes: it cannot be kept busy behind the caller's
/// back, for its copies are done when they return, or there are none.
struct CopyPace {
    size_t nbytes = 0;
    double seconds = 0;
};

class StreamCopies {
 public:
    virtual ~StreamCopies() = default;
    /// Takes place in the stream's order; the caller does not wait. Not implemented where the device has no such copy.
    virtual Status copy_on_device(diopiStreamHandle_t stream, void* dst, const void* src, size_t nbytes) = 0;

    /// What HeldStream measured once.
    std::optional<CopyPace> pace;
};

}  // namespace diopi
