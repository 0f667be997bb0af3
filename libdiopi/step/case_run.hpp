/// Runs one case on a backend: forward, in place, backward, each compared with the oracle or a stored baseline.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

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
    /// The steps to run, by name; empty: all.
    std::vector<std::string> steps = {};
    /// Hashes of the results' bits are noted.
    bool hashes = false;
    /// A seed: memory of every case lies at addresses that it changes. Without it only that of hard cases does.
    std::optional<uint64_t> addresses = {};
    /// Converts for the backend, outside of the tools; null: none. A case whose dtypes it narrows has the bounds of the
    /// narrower ones, and is compared with no stored baseline.
    Adaptor* adaptor = nullptr;
    /// Tools around every call, the first one outermost.
    std::vector<Interceptor*> interceptors;
    /// A tool that sees only the first run of each step, outside of the others; null: none.
    Interceptor* first_run = nullptr;
    /// Gets every step that ran and failed.
    std::function<void(const Case&, const FailedStep&)> on_failure;
    /// The stored baseline of a case, null when there is none; called at most once per case.
    std::function<Result<const CaseBaseline*>(const Case&)> baseline;
};

/// Runs the whole case; it always returns a result, whose verdict includes errors.
[[nodiscard]] CaseResult run_case(const Case& c, const CaseOptions& options);

/// The layouts of the case's tensors under its layout options; empty without any. Refers to `c`.
[[nodiscard]] LayoutRule layout_rule(const Case& c);

/// The case's steps, with its stored baseline if there is one. Refers to both of them, and to the memory of the inputs.
[[nodiscard]] Result<std::unique_ptr<CaseSteps>> steps_of(const Case& c, const CaseOptions& options,
                                                          Device& memory = cpu_device());

/// The rules for judging the case's steps. Refers to both.
[[nodiscard]] StepRules rules_for(const Case& c, const CaseOptions& options);

/// The facts about a case before it runs: names, dtypes and shapes of its tensors.
[[nodiscard]] CaseResult describe(const Case& c);

}  // namespace diopi
