/// Selects elements of two tensors by a condition, for where and related operators.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// out = condition != 0 ? chosen : other, all three broadcast to out and computed in `dtype`. `chosen` may be `number`.
[[nodiscard]] diopiError_t choose(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& condition,
                                  const View& chosen, const View& other, Dtype dtype, const diopiScalar_t& number);

}  // namespace diopi::cuda
