/// Calls for which the standard defines no result.
#pragma once

#include <string>

#include "call/call.hpp"

namespace diopi {

/// Why the standard has no result for the call, whose tensors are on the host; empty where it has one. An integer that
/// is divided by 0 has none: PyTorch refuses it on the CPU, and gives any number on a GPU.
[[nodiscard]] std::string why_undefined(const Call& call);

}  // namespace diopi
