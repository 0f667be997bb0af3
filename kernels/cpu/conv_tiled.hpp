/// Transposed convolutions whose windows lie side by side, as products of matrices. One of the matrices has a row for
/// each tap of each channel, in the order of the weight, and a column for each window.
#pragma once

#include "kernels/cpu/conv_plans.hpp"

namespace diopi::cpu {

/// Whether each place of the out is under one tap of one window.
[[nodiscard]] bool is_tiled(const ConvShape& shape);

/// out = bias + the transposed convolution of input with weight, computed on the machine's units and rounded once.
[[nodiscard]] diopiError_t tiled_forward(diopiContextHandle_t ctx, const ConvProblem& problem, const View& out,
                                         const View& input, const View& weight, diopiConstTensorHandle_t bias);

/// The gradients of the input and of the weight; null: not wanted. T is float or Bfloat16.
template <class T>
[[nodiscard]] diopiError_t tiled_gradients(diopiContextHandle_t ctx, const ConvShape& shape,
                                           diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                           const View& grad_out, const View& input, const View& weight);

}  // namespace diopi::cpu
