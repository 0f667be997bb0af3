/// fallback-sim: the cost of a step of a model, and whether its results change, when some operators run elsewhere.
#pragma once

#include <string>
#include <vector>

#include "intercept/adaptor/adaptor.hpp"
#include "intercept/fallback.hpp"
#include "intercept/sim_backend.hpp"
#include "journal/fallback_record.hpp"
#include "replay/capture_replay.hpp"

namespace diopi {

struct FallbackRunOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;       ///< where `backend` is a simulated device: predicted times count, not real ones
    Adaptor* adaptor = nullptr;      ///< converts for the device, outside of the fallback
    const Backend* other = nullptr;  ///< computes the fallbacks
    int run_times = 3;               ///< iterations that are timed, after one that is not
    double tolerance = 1e-2;         ///< of a result, relative to its root mean square
    bool lines = false;              ///< note the line of each fallback of one iteration
    Interceptor* first_iteration = nullptr;  ///< a tool around the calls of the first step, outermost
};

/// Replays the capture with the fallback of what is not implemented alone and with the lists, in turns.
[[nodiscard]] Result<FallbackRecord> simulate_fallback(CaptureReplay& replay, const Capture& capture,
                                                       FallbackLists& lists, const FallbackRunOptions& options);

/// Every name that a call of the capture answers to, in alphabetical order: what an item of a list may name.
[[nodiscard]] std::vector<std::string> call_names(const Capture& capture);

/// The overloads of the capture that the list of exceptions keeps on the device, in the order of their first calls.
[[nodiscard]] std::vector<std::string> kept_on_device(const Capture& capture, FallbackLists& lists);

}  // namespace diopi
