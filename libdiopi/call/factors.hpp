/// The numbers that a call multiplies tensors by.
#pragma once

#include "call/call.hpp"

namespace diopi {

/// Whether the call multiplies by a number that may round the product: none of 0, 1 and -1.
[[nodiscard]] bool is_scaled(const Call& call);

}  // namespace diopi
