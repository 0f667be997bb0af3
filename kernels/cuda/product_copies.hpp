/// What stands around a product: copies between layouts and dtypes, and sums with factors.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// to = from, cast and broadcast to it.
[[nodiscard]] diopiError_t assign(diopiContextHandle_t ctx, std::string_view op, const View& to, const View& from);
/// Sets every element.
[[nodiscard]] diopiError_t assign_number(diopiContextHandle_t ctx, std::string_view op, const View& to, double value);
/// A contiguous copy of `view` in that dtype, owned by the context for the rest of the call.
[[nodiscard]] diopiError_t copy_as(diopiContextHandle_t ctx, std::string_view op, const View& view, Dtype dtype,
                                   View& made);
/// out = beta * addend + alpha * product, computed in the dtype of the product, float32 or float64. beta = 0 leaves the
/// addend out, NaN and all.
[[nodiscard]] diopiError_t combine(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& addend,
                                   const View& product, double beta, double alpha);

/// float16, bfloat16, float32 or float64: what products are computed of.
[[nodiscard]] constexpr bool is_computable(Dtype dtype) {
    return dtype == Dtype::float16 || dtype == Dtype::bfloat16 || dtype == Dtype::float32 || dtype == Dtype::float64;
}

}  // namespace diopi::cuda
