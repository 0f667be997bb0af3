/// Convolution in float64, for which oneDNN has no primitive: im2col and a matrix product, or loops over rows where the
/// groups are too narrow for that. Plain layouts.
#pragma once

#include "kernels/cpu/conv_window.hpp"

namespace diopi::cpu {

/// Sizes of a convolution. Weight: (out_channels, channels / groups, kernel).
struct ConvShape {
    int64_t count = 0, channels = 0, height = 0, width = 0;
    int64_t out_channels = 0, out_height = 0, out_width = 0;
    Window window;
    int64_t groups = 1;

    [[nodiscard]] int64_t group_in() const { return channels / groups; }
    [[nodiscard]] int64_t group_out() const { return out_channels / groups; }
    [[nodiscard]] int64_t area() const { return height * width; }
    [[nodiscard]] int64_t out_area() const { return out_height * out_width; }
    [[nodiscard]] int64_t kernel_area() const { return window.kernel[0] * window.kernel[1]; }
    /// Terms of each sum of the forward.
    [[nodiscard]] int64_t depth() const { return group_in() * kernel_area(); }
};

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
