#include "step/checks/list.hpp"

namespace diopi {

namespace {

using MakeCheck = std::unique_ptr<StepCheck> (*)(const CheckSetup&);

#define DIOPI_NAME(name) step_check::name,
constexpr MakeCheck kStepChecks[] = {DIOPI_STEP_CHECKS(DIOPI_NAME)};
#undef DIOPI_NAME

}  // namespace

std::vector<std::unique_ptr<StepCheck>> step_checks(const CheckSetup& setup) {
    std::vector<std::unique_ptr<StepCheck>> checks;
    for (const MakeCheck make : kStepChecks) {
        if (auto check = make(setup)) checks.push_back(std::move(check));
    }
    return checks;
}

}  // namespace diopi
