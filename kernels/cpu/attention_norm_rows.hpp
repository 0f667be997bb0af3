/// The loops of normalisation by the root mean square in the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/half.hpp"

namespace diopi::cpu {

/// A row of n elements of type E, which compute in T: float, or double for double. `out` may be `x`, and `total` may be
/// `residual`.
template <class E, class T>
struct RmsNormKernels {
    /// out = x * r * weight + bias with r = 1 / sqrt(mean(x^2) + eps), which is returned.
    double (*normalise)(const E* x, const T* weight, const T* bias, E* out, int64_t n, double eps);
    /// The same of s = residual + x + bias, which is stored in total: out = s * r * scale. s is not rounded to E
    /// before.
    void (*add_and_normalise)(const E* x, const E* residual, const T* bias, const T* scale, E* out, E* total, int64_t n,
                              double eps);
    /// grad = r * (h - xhat * average(h * xhat)), h = g * weight, xhat = x * r
    void (*backward)(const E* g, const E* x, const T* weight, E* grad, int64_t n, double r);
};

using RmsNormTable = std::tuple<RmsNormKernels<float, float>, RmsNormKernels<double, double>,
                                RmsNormKernels<Half, float>, RmsNormKernels<Bfloat16, float>>;
[[nodiscard]] const RmsNormTable& rms_norm_table();

}  // namespace diopi::cpu
