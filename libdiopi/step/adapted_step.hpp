/// A step whose call an adaptor changes: its bounds are those of the dtypes that really compute it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intercept/adaptor/adaptor.hpp"
#include "journal/adapted.hpp"
#include "step/steps.hpp"

namespace diopi {

/// The step in the floating dtypes that compute it, if these are narrower: with rounded inputs, and outputs of these
/// dtypes. Nullopt if no dtype is narrowed.
[[nodiscard]] Result<std::optional<Step>> computed_step(const Step& step, const AdaptorRules& rules);

/// Why the adapted dtypes cannot hold the values of the computed step: an expected integer that the device's integers
/// cannot hold, or floating inputs beyond their range under a product of three factors or a convolution; empty if they
/// can.
[[nodiscard]] std::string beyond_range(const Step& step, const std::vector<ArgTensor>& expected,
                                       const AdaptorRules& rules);

/// For an output that is computed in a dtype with more digits and then rounded to its own: half an ulp of the former in
/// ulps of the latter, because class B allows for one rounding only. 0 for any other output.
[[nodiscard]] double earlier_rounding(const Step& step, const OutputSpec& output, const AdaptorRules& rules);

/// Converts to the form of records.
[[nodiscard]] AdaptedCalls to_record(const AdaptedCall& call);

}  // namespace diopi
