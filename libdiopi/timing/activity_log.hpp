/// Records the activities of a device, on the clock of a profile.
#pragma once

#include <memory>
#include <string_view>

#include "profile_data/profile_record.hpp"
#include "runtime/device.hpp"
#include "timing/timing.hpp"

namespace diopi {

class ActivityLog {
 public:
    /// Adds to the profile, which must outlive it: activities, or the reason why there are none.
    explicit ActivityLog(Profile& profile) : profile_(&profile) {}

    void begin(Device& device, const ProfileClock& clock);
    /// `call`: the call that caused the activities. Does nothing without begin().
    void finish(std::string_view call);

 private:
    Profile* profile_;
    std::unique_ptr<ActivityRecording> recording_;
    double zero_ = 0;  ///< begin of the recording, since the profile's beginning
};

}  // namespace diopi
