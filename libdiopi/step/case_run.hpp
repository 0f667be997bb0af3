/// Runs one case on a backend: forward, in place, backward, each held to the oracle or to a stored baseline.
#pragma once

#include <functional>
#include <memory>

#include "backend/backend.hpp"
#include "baseline/baseline.hpp"
#include "cases/bind.hpp"
#include "cases/case.hpp"
#include "journal/record.hpp"
#include "step/step_run.hpp"

namespace diopi {

struct CaseOptions {
    const Backend* backend = nullptr;
    uint64_t seed = 0;
    /// isclose with a mismatch ratio instead of the accuracy classes.
    bool legacy = false;
    Checks checks;
    /// Converts for the backend, outside of the tools; null: none. A case whose dtypes it narrows is held to what the
    /// narrower ones can give, and to no stored baseline.
    Adaptor* adaptor = nullptr;
    /// Tools around every call, the first one outermost.
    std::vector<Interceptor*> interceptors;
    /// A tool that sees the first run of each step alone, outside of the others; null: none.
    Interceptor* first_run = nullptr;
    /// Sees every step that ran and failed.
    std::function<void(const Case&, const Evidence&)> on_failure;
    /// The stored baseline of a case, null when there is none; called at most once per case.
    std::function<Result<const CaseBaseline*>(const Case&)> baseline;
};

/// The whole case; never fails itself: what goes wrong is the verdict.
[[nodiscard]] CaseResult run_case(const Case& c, const CaseOptions& options);

/// Where the case's tensors lie under the options that lay them out; empty where there is none. Refers to `c`.
[[nodiscard]] LayoutRule layout_rule(const Case& c);

/// The case's steps, with its stored baseline where there is one. Refers to both of them.
[[nodiscard]] Result<std::unique_ptr<CaseSteps>> steps_of(const Case& c, const CaseOptions& options);

/// What the case's steps are held to. Refers to both.
[[nodiscard]] StepRules rules_for(const Case& c, const CaseOptions& options);

/// What is known about a case without running it: names, dtypes and shapes of its tensors.
[[nodiscard]] CaseResult describe(const Case& c);

}  // namespace diopi
