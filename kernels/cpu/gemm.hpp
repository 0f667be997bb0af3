/// Matrix product in float64, for which oneDNN has no primitive.
#pragma once

#include <cstdint>

namespace diopi::cpu {

/// A matrix in memory: element (i, j) is data[i * row_stride + j * column_stride].
struct MatrixView {
    const double* data;
    int64_t row_stride, column_stride;
};

/// c = a * b, or c += a * b when `accumulate`; c is row-major with `c_stride` elements from row to row, a is (m, k) and
/// b (k, n). k = 0 gives zeros. Every sum is computed in the order of k with fused multiply-add, in parts of
/// kDepthBlock.
void gemm(int64_t m, int64_t n, int64_t k, MatrixView a, MatrixView b, double* c, int64_t c_stride, bool accumulate);

}  // namespace diopi::cpu
