/// The dtype in which element-wise functions read integers.
#pragma once

#include <optional>

#include "call/call.hpp"

namespace diopi {

/// The integer dtype in which a call that broadcasts or has bounds reads numbers and integer tensors without
/// dimensions: that of its integer tensors, of those with dimensions if there are any. None where the results are
/// floating numbers. Source: torch.result_type.
[[nodiscard]] std::optional<Dtype> operand_dtype(const Call& call);

/// The dtype to which a function converts all operands first (word `promotes` of its row). None for other functions.
/// Source: torch.result_type.
[[nodiscard]] std::optional<Dtype> common_dtype(const Call& call);

}  // namespace diopi
