/// Cases as one line of text: the shapes and dtypes of their tensors, their values, the difference of two cases.
#pragma once

#include <string>

#include "cases/case.hpp"

namespace diopi {

/// "input (64, 128) float16; other 3 x (2,) float32 non-contiguous; weight absent".
[[nodiscard]] std::string forms_of(const Case& c);

/// "ones", or the first of stated values: "[1, 2.5, ...]".
[[nodiscard]] std::string values_of(const CaseTensor& tensor);

/// "input (64, 128) float16 -> (1, 9) float32; other (128,) float16 -> absent; without alpha".
[[nodiscard]] std::string describe_change(const Case& before, const Case& after);

}  // namespace diopi
