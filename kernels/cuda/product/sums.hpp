/// Sums of a gradient to the shape of a tensor that was broadcast: a bias.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// out = the sum of `in` over the dimensions that broadcasting out to in's shape repeats; zeros for an empty `in`.
/// Floating dtypes, any strides. Sums in float64, in an order that depends only on the shapes.
[[nodiscard]] diopiError_t sum_to(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& in);

}  // namespace diopi::cuda
