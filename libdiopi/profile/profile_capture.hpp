/// Profiles the replay of a capture: every call of a model's step, in its order and on its tensors.
#pragma once

#include <chrono>
#include <optional>

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
    bool empty_call = false;  ///< measure the time of a call on one element where roofs are not measured
    bool activities = false;  ///< record the device's activities in the first recorded iteration
    /// A tool that sees the calls of the first iteration; null: none.
    Interceptor* first_iteration = nullptr;
    std::optional<Schedule> schedule;  ///< replaces run_times
    /// The beginning that the samples' times refer to; without it it is that of the replay.
    std::optional<std::chrono::steady_clock::time_point> begin = {};
};

/// The first row is the whole step and encloses the others. A call that no library implements says so in its error.
/// Stops early when interrupted() turns true.
[[nodiscard]] Result<Profile> profile_capture(CaptureReplay& replay, const Capture& capture,
                                              const CaptureProfileOptions& options);

/// Adds the samples of another process that replayed the same capture, as further passes.
Status add_replay(Profile& profile, Profile other);

}  // namespace diopi
