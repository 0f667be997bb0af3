/// Selects elements of two tensors by a condition, for where and related operators.
#pragma once

#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

/// out = condition != 0 ? chosen : other, all three broadcast to out and converted to its dtype.
[[nodiscard]] diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& condition,
                                  const View& chosen, const View& other);

}  // namespace diopi::cpu
