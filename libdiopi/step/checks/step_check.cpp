#include "step/checks/step_check.hpp"

#include <algorithm>

namespace diopi {

Status StepCheck::after_attempt(StepUnderTest&, Attempt&, Findings&) { return {}; }

void StepCheck::judge(StepUnderTest&, Findings&) {}

bool makes_tensors(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& a) { return a.kind == ArgKind::tensors && a.is_output; });
}

Error behind(const std::string& words, const Error& error) { return {error.code, words + error.message}; }

Error behind(const std::string& words, const Outcome& outcome) { return failed(words + outcome.message); }

}  // namespace diopi
