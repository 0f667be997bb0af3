/// The gradients of a convolution, and of a transposed one, which has the roles of its images exchanged.
#pragma once

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

using operands::ConvShape;

/// The gradients that are wanted; the others are null.
struct ConvGradients {
    diopiTensorHandle_t input = nullptr, weight = nullptr, bias = nullptr;

    [[nodiscard]] bool has_products() const { return input != nullptr || weight != nullptr; }
};

/// Computes them after the arguments were checked. With `is_transposed`, `shape` is that of the convolution whose input
/// gradient the transposed one is: its images are grad_out's, and its results are those of input.
[[nodiscard]] diopiError_t conv_gradients(diopiContextHandle_t ctx, const ConvShape& shape, bool is_transposed,
                                          const ConvGradients& grads, const View& grad_out, const View& input,
                                          const View& weight);

}  // namespace diopi::cpu
