/// Products of batches of matrices, for matmul and linear.
#pragma once

#include "kernels/cuda/product/product.hpp"
#include "kernels/cuda/view.hpp"
#include "kernels/operands/linear.hpp"

namespace diopi::cuda {

/// A tensor that is added to a product.
struct Addend {
    const View* view = nullptr;  ///< broadcasts to c; null: nothing
    double weight = 1;           ///< not 0
};

/// c = alpha * a * b + addend for every index of `batch`, to which the batch dimensions of all three broadcast. If c
/// has fewer of them, the products of the same matrix are summed; then there is no addend. Any strides, any real
/// dtypes; computes in float64 if a factor is float64, else in float32. alpha is not 0.
[[nodiscard]] diopiError_t contract(diopiContextHandle_t ctx, std::string_view op, ShapeView batch,
                                    const MatrixBatch& c, MatrixBatch a, MatrixBatch b, const Addend& addend = {},
                                    double alpha = 1);

}  // namespace diopi::cuda
