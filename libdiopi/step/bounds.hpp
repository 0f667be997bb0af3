/// What an output of a step must be within.
#pragma once

#include "check/compare.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// The bound of the schema's accuracy class, or what the rules put in its place, with the rounding that a number beside
/// a half tensor, a factor alpha, an adaptor or TF32 adds.
[[nodiscard]] Bound bound_for(const StepRules& rules, const Step& step, const OutputSpec& output);

}  // namespace diopi
