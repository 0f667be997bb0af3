/// Compares one result of a call with the expected value.
#pragma once

#include "check/compare.hpp"
#include "step/step_rules.hpp"

namespace diopi {

/// The rules and expectations for a step's results.
struct Expected {
    const StepRules& rules;
    Expectations& expectations;
    const Step& step;  ///< in the dtypes that compute it
};

/// `actual` is in host memory. Class D uses a lower bound of S first, and S itself only if that does not decide.
[[nodiscard]] Comparison compare_value(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                                       const OutputSpec& output);

}  // namespace diopi
