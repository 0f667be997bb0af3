/// Matrix products by the library that CUDA has for them, cuBLASLt.
#pragma once

#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// Matrices in memory, row-major, or column-major where `transposed`: neighbouring rows (columns) are `pitch` elements
/// apart, matrices of a batch `batch_stride` (0: one serves all).
struct GemmMatrix {
    void* data = nullptr;
    int64_t pitch = 1;
    bool transposed = false;
    int64_t batch_stride = 0;
};

/// c = alpha * a * b + beta * c + bias, of a (m, k), b (k, n), c (m, n), never transposed; m, n, k, batch >= 1.
/// `factors`: the dtype of a and b; `result`: of c and bias. float16, bfloat16 with a result of the same or float32;
/// float32 (in TF32: tf32.hpp); float64. Sums and scales are float32, or float64 for float64. With beta = 0 the old c
/// is not read.
struct Gemm {
    int64_t m = 1, n = 1, k = 1, batch = 1;
    Dtype factors = Dtype::float32, result = Dtype::float32;
    GemmMatrix a, b, c;
    const void* bias = nullptr;  ///< n numbers, added to each row; null: none. See takes_bias.
    double alpha = 1, beta = 0;  ///< alpha is not 0: a and b might then be left unread, NaN and all
};

/// Whether `bias` may lie there: aligned to 16 bytes, and not of float64.
[[nodiscard]] bool takes_bias(Dtype result, const void* bias);

/// The same sums give the same bits. diopiNoImplement where the library is missing.
[[nodiscard]] diopiError_t gemm(diopiContextHandle_t ctx, std::string_view op, const Gemm& product);

}  // namespace diopi::cuda
