#include "timing/activity_log.hpp"

#include <utility>

namespace diopi {

void ActivityLog::begin(Device& device, const ProfileClock& clock) {
    auto recording = device.record_activities();
    if (!recording.ok()) {
        profile_->unrecorded = recording.error().message;
        return;
    }
    recording_ = std::move(*recording);
    zero_ = clock.now();
}

void ActivityLog::finish(std::string_view call) {
    if (recording_ == nullptr) return;
    auto activities = recording_->finish();
    recording_.reset();
    if (!activities.ok()) {
        profile_->unrecorded = activities.error().message;
        return;
    }
    for (DeviceActivity& activity : *activities) {
        activity.launched += zero_;
        activity.start += zero_;
        profile_->activities.push_back({std::move(activity), std::string(call)});
    }
}

}  // namespace diopi
