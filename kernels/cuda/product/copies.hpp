/// Copies of real tensors and weighted sums for products.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// to = from, like copy_into; refuses complex tensors.
[[nodiscard]] diopiError_t assign(diopiContextHandle_t ctx, std::string_view op, const View& to, const View& from);
/// Sets every element to 0; refuses a complex tensor.
[[nodiscard]] diopiError_t assign_zero(diopiContextHandle_t ctx, std::string_view op, const View& to);
/// A contiguous copy of `view` in that dtype, owned by the context for the rest of the call; refuses a complex tensor.
[[nodiscard]] diopiError_t copy_as(diopiContextHandle_t ctx, std::string_view op, const View& view, Dtype dtype,
                                   View& made);
/// out = beta * addend + alpha * product, computed in the dtype of the product, float32 or float64. With beta = 0 the
/// addend is not read, so that its NaN has no effect.
[[nodiscard]] diopiError_t combine(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& addend,
                                   const View& product, double beta, double alpha);

}  // namespace diopi::cuda
