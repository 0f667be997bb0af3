/// The rules for judging a step, and the data of a failed one.
#pragma once

#include <functional>
#include <vector>

#include "backend/backend.hpp"
#include "call/chain.hpp"
#include "check/verdict.hpp"
#include "journal/record.hpp"
#include "step/adapted_step.hpp"
#include "step/checks.hpp"
#include "step/steps.hpp"

namespace diopi {

/// The data of a failed step: `actual` has host tensors at the positions of `expected`.
struct FailedStep {
    const Step& step;
    const std::vector<ArgTensor>& expected;
    const std::vector<ArgTensor>& actual;
    const StepResult& result;
};

/// The rules for judging a step.
struct StepRules {
    const Backend* backend = nullptr;
    Checks checks;
    Tolerance tolerance;
    bool random = false;                     ///< a distribution is tested
    bool legacy = false;                     ///< isclose with a mismatch ratio instead of the accuracy classes
    bool exact = false;                      ///< all inputs are whole numbers whose sums of products are exact
    bool hashes = false;                     ///< a hash of the results is noted
    bool many_calls = false;                 ///< a thousand calls are part of the histories
    bool other_options = false;              ///< a call with other options is judged, too
    bool two_threads = false;                ///< calls from two threads at once are part of the histories
    bool splits_work = true;                 ///< a call from another thread may use as many threads as there are
    std::optional<uint64_t> addresses = {};  ///< where memory lies (GuardedDevice)
    /// Converts for the backend, outside of the tools; null: none.
    Adaptor* adaptor = nullptr;
    /// Tools around the call, the first one outermost.
    std::vector<Interceptor*> interceptors = {};
    /// A tool that sees only the first run of each step, outside of the others; null: none.
    Interceptor* first_run = nullptr;
    /// Gets every failed step that ran.
    std::function<void(const FailedStep&)> on_failure = {};
};

}  // namespace diopi
