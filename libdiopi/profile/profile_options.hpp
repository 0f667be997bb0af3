/// Options for profiling the calls of cases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "call/chain.hpp"
#include "profile/schedule.hpp"
#include "timing/timing.hpp"

namespace diopi {

struct ProfileOptions {
    const Backend* backend = nullptr;
    uint64_t seed = 0;
    bool cold = false;
    bool memory = false;
    bool roofs = true;
    bool empty_call = false;  ///< measure the time of a call on one element where roofs are not measured
    bool activities = false;  ///< record the device's activities for one call of each step
    /// The steps of each case, if it has them: "forward", "inplace", "backward".
    std::vector<std::string> steps = {"forward"};
    /// max_seconds is for all passes over one call.
    TimingOptions timing;
    /// If many passes were crowded, up to twice as many.
    int passes = 20;
    /// A pass that would end later than this after the beginning is left out, with those after it; the first one always
    /// runs. 0: none is left out. Ignored with a schedule.
    double budget_seconds = 0;
    double timeout_s = 600;  ///< for one case in one pass
    Crowding::Probe probe = Crowding::probe;
    /// Replaces sampling until the samples suffice: each iteration runs every call once.
    std::optional<Schedule> schedule;
    /// Tools around every call, the first one outermost; the calls' times include their work.
    std::vector<Interceptor*> interceptors = {};
    /// A tool that sees one unmeasured call of each step; null: none.
    Interceptor* unmeasured = nullptr;
    /// Called in a worker process after each case of the first pass. Its error ends the run.
    std::function<Status(size_t index)> after_case;
    /// Gets the number of cases done in all passes, and the total.
    std::function<void(int64_t done, int64_t total)> progress;
};

}  // namespace diopi
