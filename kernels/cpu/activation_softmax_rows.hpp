/// Softmax of one row, and of neighbouring columns, in the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/half.hpp"

namespace diopi::cpu {

/// The columns that one call may handle.
constexpr int64_t kSoftmaxColumns = 256;

/// sum = the sum of exp(x - base); base is the maximum, or near it. Both are NaN, or the sum is 0 or infinite, where a
/// softmax is NaN.
struct PowerSum {
    double base, sum;
};
struct PowerSums {
    double base[kSoftmaxColumns], sum[kSoftmaxColumns];
};

/// E is float, double, Half or Bfloat16. `out` may be `x`, `grad` may be `g` or `y`. The columns are 1 to
/// kSoftmaxColumns wide, and their elements `stride` apart.
template <class E>
struct SoftmaxKernels {
    PowerSum (*sum_row)(const E* x, int64_t n);
    /// out = factor * softmax(x)
    PowerSum (*row)(const E* x, E* out, int64_t n, double factor);
    void (*log_row)(const E* x, E* out, int64_t n);
    void (*sum_columns)(const E* x, int64_t size, int64_t stride, int64_t columns, PowerSums& sums);
    /// out = factors[column] * softmax(x), of the sums of sum_columns. No factors: 1.
    void (*columns)(const E* x, E* out, int64_t size, int64_t stride, int64_t columns, const PowerSums& sums,
                    const double* factors);
    void (*log_columns)(const E* x, E* out, int64_t size, int64_t stride, int64_t columns, const PowerSums& sums);
    /// grad = y * (g - sum(g * y)), or g - exp(y) * sum(g) when y is the logarithm.
    void (*gradient_row)(const E* g, const E* y, E* grad, int64_t n, bool logarithm);
    void (*gradient_columns)(const E* g, const E* y, E* grad, int64_t size, int64_t stride, int64_t columns,
                             bool logarithm);
};

using SoftmaxTable =
    std::tuple<SoftmaxKernels<float>, SoftmaxKernels<double>, SoftmaxKernels<Half>, SoftmaxKernels<Bfloat16>>;
[[nodiscard]] const SoftmaxTable& softmax_table();

template <class E>
[[nodiscard]] const SoftmaxKernels<E>& softmax_kernels() {
    return std::get<SoftmaxKernels<E>>(softmax_table());
}

}  // namespace diopi::cpu
