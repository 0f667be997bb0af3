/// Two runs on the same inputs, whose outputs held different bytes before, give the same results.
#include "check/repeat.hpp"

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
        for (size_t arg = 0; arg < test.step.call.args.size(); ++arg) {
            const auto output = test.step.result_at(arg);
            if (!output || !output->has_meaning) continue;
            auto one = test.first->placed.host_tensor(arg, setup_.context());
            auto two = test.second->placed.host_tensor(arg, setup_.context());
            if (!one.ok() || !two.ok()) return findings.fail((one.ok() ? two : one).error());
            const Dtype dtype = output->spec.dtype;
            const PoisonBytes poison{poison_byte(dtype, Poison::kFirst), poison_byte(dtype, Poison::kSecond)};
            // The check of the values reports it.
            if ((*one)->shape != (*two)->shape || (*one)->dtype != (*two)->dtype) continue;
            const Failure wrong = compare_runs(**one, **two, poison, may_differ);
            findings.fail({wrong.kind, test.arg_name(arg) + ": " + wrong.reason});
        }
    }
};

}  // namespace

std::unique_ptr<StepCheck> step_check::repeat(const CheckSetup& setup) {
    const bool is_wanted = setup.rules.checks.poison || setup.rules.checks.repeat;
    return is_wanted ? std::make_unique<RepeatCheck>(setup) : nullptr;
}

}  // namespace diopi
