/// A convolution and its gradients, in parts that do not depend on the number of threads where oneDNN's own parts do.
#pragma once

#include "kernels/cpu/conv_plans.hpp"

namespace diopi::cpu {

/// Numbers of parts: of the images, and of the output channels (of the groups where there are several).
struct ConvParts {
    int64_t images = 1, channels = 1;
};
/// The parts of a weight gradient. The sums of the parts of the images are added up in their order.
[[nodiscard]] ConvParts weight_parts(const ConvShape& shape);

/// out = bias + the correlation of input with weight. The same bits for any number of threads.
[[nodiscard]] diopiError_t convolution_result(diopiContextHandle_t ctx, const ConvProblem& problem,
                                              const ConvMemory& memory);
/// grad_input = the transposed convolution of grad_out with weight. The same bits for any number of threads.
[[nodiscard]] diopiError_t input_gradient(diopiContextHandle_t ctx, const ConvProblem& problem, const void* grad_out,
                                          const void* weight, void* grad_input);
/// grad_weight (float32, dense in the problem's layout) = the correlation of input with grad_out. The same bits for any
/// number of threads: oneDNN alone divides the images by their number.
[[nodiscard]] diopiError_t weight_gradient(diopiContextHandle_t ctx, const ConvProblem& problem, const void* grad_out,
                                           const void* input, float* grad_weight, Staging& staging);

}  // namespace diopi::cpu
