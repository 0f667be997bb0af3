/// The activities of a device while they are recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.hpp"

namespace diopi {

/// A kernel or a copy on a device. Times are seconds since the recording began.
struct DeviceActivity {
    std::string name;        ///< of the kernel; "copy to device", "fill"
    int64_t stream = 0;      ///< the device's own number
    double launched = 0;     ///< when the host's call that asked for it began
    double launch_time = 0;  ///< how long that call took; 0: not known
    double start = 0;        ///< on the device
    double duration = 0;
    bool operator==(const DeviceActivity&) const = default;
};

/// Records until it is finished or destroyed. One at a time in a process.
class ActivityRecording {
 public:
    virtual ~ActivityRecording() = default;
    /// Waits for the device. In the order of their starts; to be called once.
    [[nodiscard]] virtual Result<std::vector<DeviceActivity>> finish() = 0;
};

}  // namespace diopi
