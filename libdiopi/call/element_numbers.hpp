/// Numbers of a call that become elements of a tensor.
#pragma once

#include "call/call.hpp"

namespace diopi {

/// The number as an element of that dtype: rounded to a floating one, wrapped in an integer one.
[[nodiscard]] Scalar as_element(const Scalar& number, Dtype dtype);

/// Converts them to the dtype of the first tensor that is read, as PyTorch does: one below 0 wraps in an unsigned
/// dtype. A call whose tensors are converted to another dtype needs it before.
void convert_element_numbers(Call& call);

}  // namespace diopi
