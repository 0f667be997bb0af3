/// Finds the functions, and their calls, that make a capture fail on a backend: it passes when they run elsewhere.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "intercept/sim_backend.hpp"
#include "replay/capture_replay.hpp"
#include "replay/delta_debugging.hpp"

namespace diopi {

struct BisectOptions {
    const Backend* backend = nullptr;
    SimBackend* sim = nullptr;       ///< set if `backend` is a simulated device
    const Backend* other = nullptr;  ///< computes the fallbacks
    double tolerance = 1e-2;         ///< for a result, relative to its root mean square
    double timeout_s = 300;          ///< for one replay
    int repeats = 1;
    /// The most replays that look for single calls; 0: two times the logarithm of their number, and 8 more.
    int call_replays = 0;
    /// Tools around every call, outside of the fallback.
    std::vector<Interceptor*> interceptors = {};
    /// Called after each replay with the number of units that fall back, the number of all, and the result.
    std::function<void(size_t fallback, size_t units, const Trial& trial)> on_replay = {};
};

/// A function of the capture; several overloads of its framework may call it.
struct FaultyFunction {
    const Row* row;
    std::vector<std::string> overloads;  ///< in the order of their first calls
    int64_t calls = 0;
};

struct BisectReport {
    /// Searches the functions of the capture, then the calls of the faulty ones.
    DeltaDebugging function_search, call_search;
    std::vector<FaultyFunction> functions;  ///< the faulty functions
    std::vector<size_t> calls;              ///< the faulty calls, as positions in Capture::calls
    size_t function_units = 0, call_units = 0;
    int reference_replays = 0;  ///< replays that computed the correct values

    [[nodiscard]] int replays() const { return reference_replays + function_search.replays + call_search.replays; }
};

/// Converts to a record for output.
[[nodiscard]] BisectRecord to_record(const BisectReport& report, const Capture& capture);

/// Each replay is a separate worker process: one that crashes or hangs has failed. The correct results are the values
/// kept with the capture, or those of a replay entirely on `other`. With one faulty function, which has n calls, it
/// takes 4 log2(n) + 8 replays at most, unless it is flaky. The process must not have started threads.
[[nodiscard]] Result<BisectReport> bisect(CaptureReplay& replay, const Capture& capture, const CaptureValues& values,
                                          const BisectOptions& options);

}  // namespace diopi
