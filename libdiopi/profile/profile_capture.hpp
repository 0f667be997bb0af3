/// Profiles the replay of a capture: every call of a model's step, in its order and on its tensors.
#pragma once

#include "intercept/adaptor/adaptor.hpp"
#include "intercept/sim_backend.hpp"
#include "profile/schedule.hpp"
#include "profile_data/profile_record.hpp"
#include "replay/capture_replay.hpp"

namespace diopi {

struct CaptureProfileOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;   ///< set if `backend` is a simulated device
    Adaptor* adaptor = nullptr;  ///< converts for the backend; not part of the calls' times
    int run_times = 3;           ///< recorded iterations, after one unrecorded
    bool memory = false;
    bool roofs = true;
    bool activities = false;  ///< record the device's activities in the first recorded iteration
    /// A tool that sees the calls of the first iteration; null: none.
    Interceptor* first_iteration = nullptr;
    std::optional<Schedule> schedule;  ///< replaces run_times
};

/// The first row is the whole step and encloses the others. A call that no library implements says so in its error.
/// Stops early when interrupted() turns true.
[[nodiscard]] Result<Profile> profile_capture(CaptureReplay& replay, const Capture& capture,
                                              const CaptureProfileOptions& options);

}  // namespace diopi
