/// A warning about expected values that prove little, because too many of them are 0.
#pragma once

#include <string>

#include "step/steps.hpp"

namespace diopi {

/// "35% of the expected values are 0: a fault may hide among them"; empty if there are few zeros, if the inputs have as
/// many, or if the function naturally gives zeros.
[[nodiscard]] std::string zeros_warning(const Step& step, const ArgTensor& value, const OutputSpec& output);

}  // namespace diopi
