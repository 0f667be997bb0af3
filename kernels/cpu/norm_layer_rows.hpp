/// The loops of layer_norm in the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/half.hpp"

namespace diopi::cpu {

/// Columns that one call of column_sums may handle.
constexpr int64_t kColumnBlock = 128;

/// The mean, and 1 / sqrt(biased variance + eps), of a row.
struct RowStatistics {
    double mean, invstd;
};

/// Elements of type E compute in T: float, or double for double. `out` may be `x`.
template <class E, class T>
struct LayerNormKernels {
    /// out = (x - mean) * invstd * weight + bias
    RowStatistics (*forward)(const E* x, const T* weight, const T* bias, E* out, int64_t n, double eps);
    /// grad = invstd * (h - average(h) - xhat * average(h * xhat)), h = g * weight, xhat = (x - mean) * invstd
    void (*backward)(const E* g, const E* x, const T* weight, E* grad, int64_t n, RowStatistics row);
    /// The sums over the rows of g * xhat and of g, of at most kColumnBlock columns; rows are `pitch` apart.
    void (*column_sums)(const E* g, const E* x, int64_t rows, int64_t pitch, const double* mean, const double* invstd,
                        int64_t columns, double* products, double* sums);
};

using LayerNormTable = std::tuple<LayerNormKernels<float, float>, LayerNormKernels<double, double>,
                                  LayerNormKernels<Half, float>, LayerNormKernels<Bfloat16, float>>;
[[nodiscard]] const LayerNormTable& layer_norm_table();

/// The loops over elements of type E, which compute in T.
template <class E, class T>
[[nodiscard]] const LayerNormKernels<E, T>& layer_norm_kernels() {
    return std::get<LayerNormKernels<E, T>>(layer_norm_table());
}

}  // namespace diopi::cpu
