/// A step whose call an adaptor changes: it is held to what the dtypes can give in which it is really computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intercept/adaptor/adaptor.hpp"
#include "journal/adapted.hpp"
#include "step/steps.hpp"

namespace diopi {

/// The step in the floating dtypes that it is computed in, where these are the narrower ones: with rounded inputs, and
/// outputs of these dtypes. Nothing where no dtype is narrowed.
[[nodiscard]] Result<std::optional<Step>> computed_step(const Step& step, const AdaptorRules& rules);

/// Why the device's integers cannot hold an expected value; empty where they can.
[[nodiscard]] std::string beyond_integers(const Step& step, const std::vector<ArgTensor>& expected,
                                          const AdaptorRules& rules);

/// Of an output that is computed in a dtype with more digits and then rounded to its own: half an ulp of the former in
/// ulps of the latter, which class B, of one rounding, does not know of. 0 for any other output.
[[nodiscard]] double earlier_rounding(const Step& step, const OutputSpec& output, const AdaptorRules& rules);

/// For the records.
[[nodiscard]] AdaptedCalls to_record(const AdaptedCall& call);

}  // namespace diopi
