/// Means over the windows of planes, sliding or adaptive, and their gradients.
#pragma once

#include "kernels/cpu/pool_planes.hpp"
#include "kernels/operands/pool.hpp"

namespace diopi::cpu {

/// The windows along each side.
struct MeanWindows {
    std::array<std::vector<Span>, kMostSides> inside;      ///< elements of each window that lie inside, maybe none
    std::array<std::vector<double>, kMostSides> divisors;  ///< the product of three is the divisor of a window
    int64_t stride = 0;  ///< of the columns of sliding windows; 0: the windows are adaptive
    int64_t kernel = 0, padding = 0;

    /// The adaptive windows of `in` that give `out`.
    static MeanWindows adaptive(const Sides& in, const Sides& out);
    /// The sliding ones. The divisor, where it is not null, is that of all windows; else it is the number of elements,
    /// those of the padding included or not.
    static MeanWindows sliding(const Window& window, const Sides& in, const Sides& out, bool count_include_pad,
                               const int64_t* divisor);
};

/// out = means of in; the gradient goes from out to in. Neither is empty.
[[nodiscard]] diopiError_t pool_means(diopiContextHandle_t ctx, const PoolImages& p, const MeanWindows& windows);
[[nodiscard]] diopiError_t pool_means_backward(diopiContextHandle_t ctx, const PoolImages& p,
                                               const MeanWindows& windows);

}  // namespace diopi::cpu
