/// fallback-sim: what a step of a model costs, and whether its results change, when some operators run elsewhere.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "intercept/adaptor/adaptor.hpp"
#include "intercept/fallback.hpp"
#include "intercept/sim_backend.hpp"
#include "replay/capture_replay.hpp"

namespace diopi {

struct FallbackRunOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;       ///< where `backend` is a simulated device: predicted times count, not real ones
    Adaptor* adaptor = nullptr;      ///< converts for the device, outside of the fallback
    const Backend* other = nullptr;  ///< answers what falls back
    int run_times = 3;               ///< iterations that are timed, after one that is not
    double tolerance = 1e-2;         ///< of a result, relative to its root mean square
    std::function<void(const FallbackEvent&)> on_event = {};  ///< sees each fallback of one iteration
    Interceptor* first_iteration = nullptr;                   ///< a tool around the calls of the first step, outermost
};

/// What fell back, by the name that its framework gave it.
struct FallbackRow {
    std::string overload, function;
    FallbackReason reason = FallbackReason::kForced;
    int64_t calls = 0;
    Transfers in, out;          ///< of all calls in one iteration
    double device_seconds = 0;  ///< of the same calls on the device, where it has them
    double other_seconds = 0;
};

/// A result of the capture that is another one with the fallback.
struct ChangedResult {
    std::string tensor;  ///< its label or id
    double max_abs = 0, max_rel = 0;
    bool within = true;  ///< the tolerance
};

struct FallbackReport {
    int64_t calls = 0;
    std::vector<FallbackRow> rows;  ///< the costliest first
    /// Overloads that nobody implements, with their calls: their outputs were made up.
    std::map<std::string, int64_t> missing;
    double step_seconds = 0, step_seconds_with = 0;  ///< medians, without and with the forced fallback
    /// The same where the simulated device waits: what a clock on the wall says. Else 0.
    double waited_seconds = 0, waited_seconds_with = 0;
    int64_t results = 0;
    std::vector<ChangedResult> changed;
};

/// Replays the capture with the fallback of what is not implemented alone and with the lists, in turns.
[[nodiscard]] Result<FallbackReport> simulate_fallback(CaptureReplay& replay, const Capture& capture,
                                                       FallbackLists& lists, const FallbackRunOptions& options);

}  // namespace diopi
