/// Two runs on the same inputs, whose outputs held different bytes before, give the same results.
#include "step/checks/list.hpp"

namespace diopi {

namespace {

class RepeatCheck final : public StepCheck {
 public:
    using StepCheck::StepCheck;

    bool needs_second() const override { return true; }

    void judge(StepUnderTest& test, Findings& findings) override {
        if (test.second == nullptr) return;
        const bool may_differ = !setup_.rules.checks.repeat || test.step.call.row->repeat == Repeat::varying;
        for (const OutputSpec& result : test.step.results()) {
            findings.fail(difference(test, result.place(), test.first->placed, test.second->placed, may_differ));
        }
    }
};

}  // namespace

std::unique_ptr<StepCheck> step_check::repeat(const CheckSetup& setup) {
    const bool is_wanted = setup.rules.checks.poison || setup.rules.checks.repeat;
    return is_wanted ? std::make_unique<RepeatCheck>(setup) : nullptr;
}

}  // namespace diopi
