/// The activities of a device while they are recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// A kernel or a copy on a device. Times are seconds since the recording began.
struct DeviceActivity {
    std::string name;        ///< the kernel's name, or "copy to device", "fill"
    int64_t stream = 0;      ///< the device's own number
    double launched = 0;     ///< when the host's call that asked for it began
    double launch_time = 0;  ///< how long that call took; 0: not known
    double start = 0;        ///< begin of the work on the device
    double duration = 0;
    bool operator==(const DeviceActivity&) const = default;
};

/// Records until it is finished or destroyed. A process can have only one at a time.
class ActivityRecording {
 public:
    virtual ~ActivityRecording() = default;
    /// Waits for the device; returns the activities in the order of their starts. It may be called once.
    [[nodiscard]] virtual Result<std::vector<DeviceActivity>> finish() = 0;
};

}  // namespace diopi
