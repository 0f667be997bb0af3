/// Runs one step of a case on a backend with every check around the call, and judges its results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "step/attempt.hpp"
#include "step/checks/list.hpp"
#include "step/findings.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// Calls use(placement) with a stream and a context of its own on the backend's device, with guards if the checks need
/// them.
Status with_placement(const StepRules& rules, LayoutRule layout, Inputs inputs,
                      const std::function<void(Placement&)>& use);

/// The verdict is not implemented, or failed, depending on the error; `result` keeps its first failure.
void refuse_step(StepResult& result, const Error& error);

class StepRun {
 public:
    /// Both belong to one case: `expectations` gives the expected values, `placement` holds its tensors.
    StepRun(const StepRules& rules, Expectations& expectations, Placement& placement);
    StepRun(const StepRun&) = delete;
    StepRun& operator=(const StepRun&) = delete;

    /// Makes the call of the step's maker; see take_opaque. Do it before run().
    [[nodiscard]] Status take_opaque(Step& step) { return attempts_.take_opaque(step); }
    /// Runs and judges the step, or refuses it if the backend lacks the function; `result` already has its names and
    /// gets verdict, reason, deviations and time.
    void run(const Step& step, StepResult& result);

 private:
    /// The step whose results are expected: the step itself, or the one that the adaptor makes of it.
    [[nodiscard]] Result<const Step*> computed_for(const Step& step);
    /// The step must return the error `wanted` of the reference, and change nothing that it also reads.
    void check_error(const Step& step, const Step& computed, const Error& wanted, Findings& findings);
    void check(StepUnderTest& test, Findings& findings);
    void check_second(StepUnderTest& test, std::optional<Attempt>& second, Findings& findings);
    [[nodiscard]] Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings);
    /// Passes a failed step to the rules' on_failure, unless it is judged again.
    void report_failure(const StepUnderTest& test, const StepResult& result);

    const StepRules& rules_;
    Expectations& expectations_;
    Placement& placement_;
    AttemptRunner attempts_;
    std::vector<std::unique_ptr<StepCheck>> checks_;
    /// Kept for all steps so far, because the oracle identifies tensors by their addresses.
    std::vector<std::unique_ptr<Step>> computed_;
};

}  // namespace diopi
