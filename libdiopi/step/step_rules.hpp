/// What a step is held to, and what a failed one leaves to show.
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

/// What a failed step leaves to show: `actual` holds host tensors at the positions of `expected`.
struct Evidence {
    const Step& step;
    const std::vector<ArgTensor>& expected;
    const std::vector<ArgTensor>& actual;
    const StepResult& result;
};

/// What a step is held to.
struct StepRules {
    const Backend* backend = nullptr;
    Checks checks;
    Tolerance tolerance;
    bool random = false;  ///< a distribution is tested
    bool legacy = false;  ///< isclose with a mismatch ratio instead of the accuracy classes
    bool exact = false;   ///< all inputs are whole numbers whose sums of products are exact
    /// Converts for the backend, outside of the tools; null: none.
    Adaptor* adaptor = nullptr;
    /// Tools around the call, the first one outermost.
    std::vector<Interceptor*> interceptors = {};
    /// A tool that sees the first run of each step alone, outside of the others; null: none.
    Interceptor* first_run = nullptr;
    /// Sees every failed step that ran.
    std::function<void(const Evidence&)> on_failure = {};
};

}  // namespace diopi
