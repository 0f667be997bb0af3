/// Finds the functions, and their calls, that must run elsewhere so that a capture that fails on a backend passes.
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
    SimBackend* sim = nullptr;       ///< where `backend` is a simulated device
    const Backend* other = nullptr;  ///< computes the fallbacks
    double tolerance = 1e-2;         ///< of a result, relative to its root mean square
    double timeout_s = 300;          ///< of one replay
    int repeats = 1;
    /// The most replays that look for single calls; 0: two times their logarithm, and 8 more.
    int call_replays = 0;
    /// Tools around every call, outside of the fallback.
    std::vector<Interceptor*> interceptors = {};
    /// Called after each replay with the number of units that fall back, and the result.
    std::function<void(size_t fallback, size_t units, const Trial& trial)> on_replay = {};
};

/// A function of the capture that other overloads of its framework may share.
struct BlamedFunction {
    const Row* row;
    std::vector<std::string> overloads;  ///< in the order of their first calls
    int64_t calls = 0;
};

struct BisectReport {
    /// Over the functions of the capture, then over the calls of those that were found.
    DeltaDebugging function_search, call_search;
    std::vector<BlamedFunction> functions;  ///< that were found
    std::vector<size_t> calls;              ///< that were found, as positions in Capture::calls
    size_t function_units = 0, call_units = 0;
    int reference_replays = 0;  ///< that gave the correct values

    [[nodiscard]] int replays() const { return reference_replays + function_search.replays + call_search.replays; }
};

/// What is kept and shown of it.
[[nodiscard]] BisectRecord to_record(const BisectReport& report, const Capture& capture);

/// Each replay is a worker process of its own: one that crashes or hangs has failed. The correct results are the
/// values that were kept with the capture, or those of a replay entirely on `other`. With one function to blame among
/// those of n calls it takes 4 log2(n) + 8 replays at most, unless it is flaky. The process must not have started
/// threads.
[[nodiscard]] Result<BisectReport> bisect(CaptureReplay& replay, const Capture& capture, const CaptureValues& values,
                                          const BisectOptions& options);

}  // namespace diopi
