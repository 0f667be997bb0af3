/// The error bounds of a step's outputs.
#pragma once

#include "check/compare.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// The bound of the schema's accuracy class, or its replacement by the rules, with the roundings to a wider dtype
/// before the output's, of a factor alpha, of an adaptor or of TF32.
[[nodiscard]] Bound bound_for(const StepRules& rules, const Step& step, const OutputSpec& output);

}  // namespace diopi
