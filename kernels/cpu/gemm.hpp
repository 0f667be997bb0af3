/// Matrix products in float64, for which oneDNN has no primitive, and in float32 where oneDNN's depends on the number
/// of threads.
#pragma once

#include <cstdint>
#include <tuple>

namespace diopi::cpu {

/// A matrix in memory: element (i, j) is data[i * row_stride + j * column_stride].
template <class T>
struct MatrixView {
    const T* data;
    int64_t row_stride, column_stride;
};

/// c = a * b, or c += a * b when `accumulate`; c is row-major with `c_stride` elements from row to row, a is (m, k) and
/// b (k, n). k = 0 gives zeros. Every sum is computed in the order of k with fused multiply-add, in parts of
/// kDepthBlock. T is float or double.
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride, bool accumulate);

/// The functions that an instruction set has for it.
template <class T>
using GemmKernel = void (*)(int64_t m, int64_t n, int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, int64_t c_stride,
                            bool accumulate);
using GemmKernels = std::tuple<GemmKernel<float>, GemmKernel<double>>;

}  // namespace diopi::cpu
