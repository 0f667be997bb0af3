/// Convolution in float64, for which oneDNN has no primitive: im2col and a matrix product, or loops over rows where the
/// groups are too narrow for that. Plain layouts.
#pragma once

#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

using operands::ConvShape;

/// Doubles of workspace that the functions below need.
[[nodiscard]] int64_t conv_workspace(const ConvShape& shape);

/// out = bias (null: 0) + the correlation of input with weight.
void conv_forward(const ConvShape& shape, const double* input, const double* weight, const double* bias, double* out,
                  double* workspace);
/// grad_input = the transposed convolution of grad_out with weight.
void conv_backward_input(const ConvShape& shape, const double* grad_out, const double* weight, double* grad_input,
                         double* workspace);
/// grad_weight = the correlation of input with grad_out.
void conv_backward_weight(const ConvShape& shape, const double* grad_out, const double* input, double* grad_weight,
                          double* workspace);

}  // namespace diopi::cpu
