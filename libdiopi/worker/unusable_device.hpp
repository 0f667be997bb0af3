/// After an error, a device often fails at every later call: it is unusable, and its worker must be replaced.
#pragma once

#include "core/status.hpp"
#include "runtime/device.hpp"

namespace diopi {

/// Added to the reason of the call that left the device in error.
inline constexpr const char* kStayedInError = "; the device stayed in error, its worker was replaced";

/// For use after a failed call: a working device answers within microseconds.
[[nodiscard]] inline bool is_unusable(Device& device) { return !check_health(device).ok(); }

}  // namespace diopi
