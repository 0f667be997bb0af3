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
    SimBackend* sim = nullptr;               ///< set if `backend` is a simulated device: modelled times count
    Adaptor* adaptor = nullptr;              ///< converts for the device, outside of the fallback
    const Backend* other = nullptr;          ///< computes the fallbacks
    int run_times = 3;                       ///< timed iterations, after one untimed
    double tolerance = 1e-2;                 ///< for a result, relative to its root mean square
    bool lines = false;                      ///< record a line for each fallback of one iteration
    Interceptor* first_iteration = nullptr;  ///< a tool around the calls of the first step, outermost
};

/// Replays the capture alternately with fallback of unimplemented calls only, and with the lists.
[[nodiscard]] Result<FallbackRecord> simulate_fallback(CaptureReplay& replay, const Capture& capture,
                                                       FallbackLists& lists, const FallbackRunOptions& options);

/// All names of the capture's calls, in alphabetical order: a list's items may match these.
[[nodiscard]] std::vector<std::string> call_names(const Capture& capture);

/// The overloads of the capture that the list of exceptions keeps on the device, in the order of their first calls.
[[nodiscard]] std::vector<std::string> kept_on_device(const Capture& capture, FallbackLists& lists);

}  // namespace diopi
