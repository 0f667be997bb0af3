/// Bad calls: calls with one argument changed, so that the standard defines no result. A library should return an error
/// and leave the outputs as they were.
#pragma once

#include <vector>

#include "cases/case.hpp"
#include "infer/output_spec.hpp"
#include "step/placement.hpp"
#include "step/step_rules.hpp"
#include "step/steps.hpp"

namespace diopi {

/// The changes that make the step's call bad: null handles, shapes and dtypes that contradict, dims out of range, sizes
/// below 0. The rules of shapes decide: a change after which they give the same outputs is not among them.
[[nodiscard]] std::vector<BadCall> bad_calls_of(const Step& step, const ResultHints& hints);

/// Changes the step's call.
void apply(const BadCall& bad, Step& step);

/// Makes the call of a changed step once, without tools. The result passes if the library refuses it.
void run_bad_call(const StepRules& rules, const Step& step, Placement& placement, StepResult& result);

}  // namespace diopi
