/// Holds one value that a call left to what was expected of it.
#pragma once

#include "check/compare.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// What a step's results are held to.
struct Expected {
    const StepRules& rules;
    Expectations& expectations;
    const Step& step;  ///< as it is computed
};

/// `actual` lies in host memory. Class D is held to a lower bound of S first, and to S itself only when that leaves a
/// doubt.
[[nodiscard]] Comparison compare_value(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                                       const OutputSpec& output);

}  // namespace diopi
