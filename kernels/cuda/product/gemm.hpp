/// Matrix products by cuBLASLt, CUDA's library.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// Matrices in memory, row-major, or column-major if `transposed`: `pitch` elements from row to row (column to column),
/// `batch_stride` from matrix to matrix (0: one serves the whole batch).
struct GemmMatrix {
    void* data = nullptr;
    int64_t pitch = 1;
    bool transposed = false;
    int64_t batch_stride = 0;
};

/// c = alpha * a * b + beta * c + bias, with a (m, k), b (k, n), c (m, n), c not transposed; m, n, k, batch >= 1.
/// `factors` is the dtype of a and b, `result` that of c and bias: float16 or bfloat16 with a result of the same dtype
/// or float32; float32 (in TF32: tf32.hpp); float64. Sums and scales are float32, or float64 for float64. With beta = 0
/// the old c is not read.
struct Gemm {
    int64_t m = 1, n = 1, k = 1, batch = 1;
    Dtype factors = Dtype::float32, result = Dtype::float32;
    GemmMatrix a, b, c;
    const void* bias = nullptr;  ///< n numbers that are added to each row, or null: takes_bias.
    double alpha = 1, beta = 0;  ///< alpha is not 0, with which the library may ignore a and b, and so their NaN
};

/// Whether the library adds `bias` to the product, and rounds once: not in float64, nor where `bias` is not aligned to
/// 16 bytes. It rounds half products before it adds, where not every row of every matrix is aligned so.
[[nodiscard]] bool takes_bias(const Gemm& product, const void* bias);

/// Equal calls give equal bits. diopiNoImplement if the library is missing.
[[nodiscard]] diopiError_t gemm(diopiContextHandle_t ctx, std::string_view op, const Gemm& product);

}  // namespace diopi::cuda
