/// The gradient of a convolution's weight, in parts that do not depend on the number of threads.
#pragma once

#include "kernels/cpu/conv_plans.hpp"

namespace diopi::cpu {

/// The parts of a weight gradient: of the images, whose sums are added up in their order, and of the output channels
/// (of the groups where there are several).
struct WeightParts {
    int64_t images = 1, channels = 1;
};
[[nodiscard]] WeightParts weight_parts(const ConvShape& shape);

/// grad_weight (float32, dense in the problem's layout) = the correlation of input with grad_out. The same bits for any
/// number of threads: oneDNN alone divides the images by their number.
[[nodiscard]] diopiError_t convolve_backward_weight(diopiContextHandle_t ctx, const ConvProblem& problem,
                                                    const void* grad_out, const void* input, float* grad_weight,
                                                    Staging& staging);

}  // namespace diopi::cpu
