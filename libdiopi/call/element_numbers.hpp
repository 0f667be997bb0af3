/// Numbers of a call that become elements of a tensor.
#pragma once

#include "call/call.hpp"

namespace diopi {

/// Converts them to the dtype of the first tensor that is read, as PyTorch does: one below 0 wraps in an unsigned
/// dtype. A call whose tensors are converted to another dtype needs it before.
void convert_element_numbers(Call& call);

}  // namespace diopi
