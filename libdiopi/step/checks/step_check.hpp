/// A check of a step: what it gets, and when it is asked. The list is in step/checks/list.hpp.
#pragma once

#include <string>
#include <vector>

#include "step/attempt.hpp"
#include "step/findings.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// What the checks of one case share. All of it outlives them.
struct CheckSetup {
    const StepRules& rules;
    Expectations& expectations;
    Placement& placement;
    AttemptRunner& attempts;

    [[nodiscard]] Context& context() const { return placement.context(); }
    [[nodiscard]] Device& device() const { return *placement.context().device; }
};

/// The step under test.
struct StepUnderTest {
    const Step& step;
    const Step& computed;  ///< what its results are held to: `step`, or the step as the adaptor has it computed
    const std::vector<ArgTensor>& expected;
    Attempt* first = nullptr;
    Attempt* second = nullptr;  ///< null where no check needs it, and where it failed
    /// What the first attempt left, in host memory, as far as it has been read.
    std::vector<ArgTensor> actual = {};

    [[nodiscard]] std::string arg_name(size_t arg) const { return std::string(step.call.row->args()[arg].name); }
};

/// One for all steps of a case.
class StepCheck {
 public:
    explicit StepCheck(const CheckSetup& setup) : setup_(setup) {}
    virtual ~StepCheck() = default;
    StepCheck(const StepCheck&) = delete;
    StepCheck& operator=(const StepCheck&) = delete;

    /// Whether the step must run a second time, on the same inputs and with other bytes in its outputs.
    [[nodiscard]] virtual bool needs_second() const { return false; }
    /// Before every call, outside of its time.
    virtual void before_call() {}
    /// After the first attempt and after the second, which succeeded, before anything else runs. An error ends the
    /// step.
    [[nodiscard]] virtual Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings);
    /// After all attempts.
    virtual void judge(StepUnderTest& test, Findings& findings);

 protected:
    CheckSetup setup_;
};

/// Whether the function makes output tensors itself: they outlive the call by right.
[[nodiscard]] bool makes_tensors(const Row& row);

/// What an error means behind these words: "the second run failed: " and the message.
[[nodiscard]] Error behind(const std::string& words, const Error& error);
/// The same of a call that gave an error code.
[[nodiscard]] Error behind(const std::string& words, const Outcome& outcome);

}  // namespace diopi
