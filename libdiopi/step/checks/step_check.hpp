/// A check of a step: its input, and the times at which it is called. The list is in step/checks/list.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "step/attempt.hpp"
#include "step/findings.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// The objects that the checks of one case share. All of them outlive the checks.
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
    const Step& computed;  ///< the expected form of its results: `step`, or the step that an adaptor makes of it
    std::vector<ArgTensor>& expected;
    Attempt* first = nullptr;
    Attempt* second = nullptr;  ///< null if no check needs it, and if it failed
    /// The results of the first attempt in host memory, as far as they have been read.
    std::vector<ArgTensor> actual = {};
    bool has_dropped_expected = false;

    /// Empties `expected` if it takes much memory.
    void drop_large_expected();
    [[nodiscard]] std::string name_of(ArgPlace place) const { return step.call.name_of(place); }
    /// The result at a place, a host tensor, in the dtype of the comparison.
    [[nodiscard]] Result<TensorPtr> as_computed(const TensorPtr& actual, ArgPlace place) const;
};

/// There is one object for all steps of a case.
class StepCheck {
 public:
    explicit StepCheck(const CheckSetup& setup) : setup_(setup) {}
    virtual ~StepCheck() = default;
    StepCheck(const StepCheck&) = delete;
    StepCheck& operator=(const StepCheck&) = delete;

    /// Whether the step must run a second time, on the same inputs and with other bytes in its outputs.
    [[nodiscard]] virtual bool needs_second() const { return false; }
    /// Whether it judges a call that returns an error, as it must, too.
    [[nodiscard]] virtual bool judges_errors() const { return false; }
    /// Called before the first attempt of a step. An error ends the step.
    [[nodiscard]] virtual Status before_first(const Step&) { return {}; }
    /// Called before every call, outside of its time.
    virtual void before_call() {}
    /// Called before and after the call of an attempt, but not its repetitions. The first check of the list comes last
    /// before it, and first after it.
    virtual void before_attempt(const Attempt&) {}
    virtual void after_call(const Attempt&) {}
    /// Called after the first attempt and after a successful second one, before anything else runs. An error ends the
    /// step.
    [[nodiscard]] virtual Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings);
    /// Called after all attempts.
    virtual void judge(StepUnderTest& test, Findings& findings);

 protected:
    /// How the results of two attempts differ at a place; the first attempt had the first poison, the other one the
    /// second. With `may_differ` only elements that neither has written count. The check of the values reports another
    /// shape or dtype.
    [[nodiscard]] Failure difference(const StepUnderTest& test, ArgPlace place, PlacedCall& first, PlacedCall& second,
                                     bool may_differ);

    /// The first of these expected values that a call did not give.
    [[nodiscard]] Failure first_wrong(const StepUnderTest& test, std::span<const ArgTensor> values, PlacedCall& placed);

    CheckSetup setup_;
};

/// The error with these words before its message: "the second run failed: ".
[[nodiscard]] Error behind(const std::string& words, const Error& error);
/// The same for a call that returned an error code.
[[nodiscard]] Error behind(const std::string& words, const Outcome& outcome);

}  // namespace diopi
