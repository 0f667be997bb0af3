/// Only the elements of the outputs are written: nothing past an edge, between elements, or in a const input.
#include "step/checks/list.hpp"

namespace diopi {

namespace {

class IntegrityCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool judges_errors() const override { return true; }

    Status after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings) override {
        check(attempt, findings);
        // The second attempt is read immediately.
        return &attempt == test.first ? attempt.placed.remove_gaps(setup_.context()) : Status();
    }

 private:
    void check(Attempt& attempt, Findings& findings) {
        findings.fail(setup_.placement.check_guards());
        if (setup_.rules.checks.guard != Guard::kNone) findings.fail(attempt.placed.check_gaps(setup_.context()));
        findings.fail(attempt.placed.check_inputs(setup_.placement));
    }
};

}  // namespace

std::unique_ptr<StepCheck> step_check::integrity(const CheckSetup& setup) {
    return std::make_unique<IntegrityCheck>(setup);
}

}  // namespace diopi
