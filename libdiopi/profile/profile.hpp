/// Profiles the calls of cases: pass after pass over all of them, so that each call is seen in several moods of the
/// machine (docs/profile.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "cases/case.hpp"
#include "check/statistics.hpp"
#include "profile/schedule.hpp"
#include "profile_data/profile_figures.hpp"
#include "step/steps.hpp"
#include "timing/timing.hpp"

namespace diopi {

struct ProfileOptions {
    const Backend* backend = nullptr;
    uint64_t seed = 0;
    bool cold = false;
    bool memory = false;
    bool roofs = true;
    bool activities = false;  ///< what the device does for one call of each step
    /// Of each case, as far as it has them: "forward", "inplace", "backward".
    std::vector<std::string> steps = {"forward"};
    /// max_seconds is for all passes over one call.
    TimingOptions timing;
    /// Where many were crowded, up to as many more.
    int passes = 20;
    double timeout_s = 600;  ///< for one case in one pass
    Crowding::Probe probe = Crowding::probe;
    /// Instead of samples until they suffice: each iteration runs every call once.
    std::optional<Schedule> schedule;
    /// Tools around every call, the first one outermost; the calls' times hold what they do.
    std::vector<Interceptor*> interceptors = {};
    /// A tool that sees one call of each step, which is not measured; null: none.
    Interceptor* unmeasured = nullptr;
    /// Called in a worker process behind each case of the first pass. Its error ends the run.
    std::function<Status(size_t index)> after_case;
    /// How many cases times passes are done.
    std::function<void(int64_t done, int64_t total)> progress;
};

/// Each pass runs in a worker process of its own; this process must not have started threads. Stops early when
/// interrupted() turns true. What goes wrong with one call is its `trouble`.
[[nodiscard]] Result<Profile> profile_cases(const std::vector<Case>& cases, const ProfileOptions& options);

/// What the backend gives at best, with products in every floating dtype: measured twice, each time in a worker process
/// that has `timeout_s`.
[[nodiscard]] Result<Roofs> profile_roofs(const Backend& backend, double timeout_s);

/// Fills in what can be told from the call itself: function, shapes and dtype of its inputs, flops and bytes. For
/// whoever runs calls that come from elsewhere.
void describe_call(const Call& call, ProfiledCall& profiled);

}  // namespace diopi
