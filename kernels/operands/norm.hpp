/// The arguments of batch and layer normalisation and of their gradients, checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// What batch normalisation and its gradient share.
struct BatchNorm {
    std::string_view op;
    View input;
    diopiConstTensorHandle_t weight, bias, mean, variance;
    bool training;
    double eps;

    [[nodiscard]] int64_t channels() const { return input.shape[1]; }
};

/// Refuses an `out` (or its gradient) and parameters that do not fit the input.
[[nodiscard]] diopiError_t check_batch_norm(const BatchNorm& a, const View& out);

/// A tensor as `count` rows of `size` elements.
struct RowShape {
    int64_t count = 1, size = 1;

    [[nodiscard]] int64_t numel() const { return count * size; }
};

struct LayerNorm {
    std::string_view op;
    diopiTensorHandle_t out, save_mean, save_invstd;
    diopiConstTensorHandle_t input, weight, bias;
    ShapeView normalized;
    double eps;
    RowShape rows{};  ///< set by read_layer_norm
};

struct LayerNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, mean, rstd;
    ShapeView normalized;
    RowShape rows{};  ///< set by read_layer_norm
};

/// Refuses tensors that do not fit the input, whose last dimensions must be the normalised shape.
[[nodiscard]] diopiError_t read_layer_norm(LayerNorm& a);
[[nodiscard]] diopiError_t read_layer_norm(LayerNormGradient& a);

}  // namespace diopi::operands
