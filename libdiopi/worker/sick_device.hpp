/// A device that has met an error often fails at all that comes after it: its worker is then fit for nothing more.
#pragma once

#include "core/status.hpp"
#include "runtime/device.hpp"

namespace diopi {

/// What is said of the call that left the device so.
inline constexpr const char* kStayedInError = "; the device stayed in error, its worker was replaced";

/// To be asked of a call that failed: a device that works answers within microseconds.
[[nodiscard]] inline bool is_sick(Device& device) { return !check_health(device).ok(); }

}  // namespace diopi
