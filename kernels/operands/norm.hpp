/// The arguments of batch and layer normalisation and of their gradients, checked. Shared by the backends cpu and cuda.
#pragma once

#include <string_view>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The arguments of diopiBatchNorm in their order.
struct BatchNorm {
    std::string_view op;
    diopiTensorHandle_t out, save_mean, save_invstd;
    diopiConstTensorHandle_t input, weight, bias;
    diopiTensorHandle_t running_mean, running_var;
    bool training;
    double momentum, eps;
};

/// The arguments of diopiBatchNormBackward in their order.
struct BatchNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, running_mean, running_var, save_mean, save_invstd;
    bool training;
    double eps;
};

/// Refuses an out (or its gradient) and parameters that do not fit the input.
[[nodiscard]] diopiError_t check_batch_norm(const BatchNorm& a);
[[nodiscard]] diopiError_t check_batch_norm(const BatchNormGradient& a);

/// A tensor as `count` rows of `size` elements.
struct RowShape {
    int64_t count = 1, size = 1;

    [[nodiscard]] int64_t numel() const { return count * size; }
};

/// The arguments of diopiLayerNorm in their order.
struct LayerNorm {
    std::string_view op;
    diopiTensorHandle_t out, save_mean, save_invstd;
    diopiConstTensorHandle_t input, weight, bias;
    diopiSize_t normalized_shape;
    double eps;
    RowShape rows{};  ///< set by read_layer_norm
};

/// The arguments of diopiLayerNormBackward in their order.
struct LayerNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, bias, mean, rstd;
    diopiSize_t normalized_shape;
    RowShape rows{};  ///< set by read_layer_norm
};

/// Refuses tensors that do not fit the input, whose last dimensions must be the normalised shape.
[[nodiscard]] diopiError_t read_layer_norm(LayerNorm& a);
[[nodiscard]] diopiError_t read_layer_norm(LayerNormGradient& a);

}  // namespace diopi::operands
