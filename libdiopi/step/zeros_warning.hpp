/// Expected values that prove little, since too many of them are 0.
#pragma once

#include <string>

#include "step/steps.hpp"

namespace diopi {

/// "35% of the expected values are 0: a fault may hide among them"; empty where the zeros are few, the inputs have as
/// many, or the function gives zeros by its nature.
[[nodiscard]] std::string zeros_warning(const Step& step, const ArgTensor& value, const OutputSpec& output);

}  // namespace diopi
