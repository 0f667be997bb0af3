/// Runs one step of a case on a backend with every check around the call, and judges what it left.
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

/// Calls use(placement) with a stream and a context of its own on the backend's device, guarded as the checks ask for.
Status with_placement(const StepRules& rules, LayoutRule layout, const std::function<void(Placement&)>& use);

/// Not implemented, or failed, as the error says; `result` keeps its first failure.
void refuse_step(StepResult& result, const Error& error);

class StepRun {
 public:
    /// All of one case: `expectations` answers for its steps, `placement` holds its tensors.
    StepRun(const StepRules& rules, Expectations& expectations, Placement& placement);
    StepRun(const StepRun&) = delete;
    StepRun& operator=(const StepRun&) = delete;

    /// Runs and judges, or refuses what the backend lacks; `result` comes with its names and gets verdict, reason,
    /// deviations and time.
    void run(const Step& step, StepResult& result);

 private:
    /// What the step is held to: itself, or as the adaptor has it computed.
    [[nodiscard]] Result<const Step*> computed_for(const Step& step);
    void check(StepUnderTest& test, Findings& findings);
    void check_second(StepUnderTest& test, std::optional<Attempt>& second, Findings& findings);
    [[nodiscard]] Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings);

    const StepRules& rules_;
    Expectations& expectations_;
    Placement& placement_;
    AttemptRunner attempts_;
    std::vector<std::unique_ptr<StepCheck>> checks_;
    /// Of all steps so far: the oracle knows tensors by their addresses.
    std::vector<std::unique_ptr<Step>> computed_;
};

}  // namespace diopi
