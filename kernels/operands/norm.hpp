/// The arguments of batch and layer normalisation and of their gradients, checked. Shared by the backends cpu and cuda.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// An argument that may be null, and its name.
using NamedArgument = std::pair<diopiConstTensorHandle_t, std::string_view>;

/// Parameters, statistics and their gradients have one element for each channel of the input (N, C, ...).
[[nodiscard]] diopiError_t check_per_channel(std::string_view op, const View& input,
                                             std::initializer_list<NamedArgument> arguments);

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

/// The rows of x, which must end in the normalised shape.
[[nodiscard]] diopiError_t read_rows(std::string_view op, const View& x, ShapeView normalized, RowShape& rows);
/// Parameters and their gradients have the normalised shape.
[[nodiscard]] diopiError_t check_affine(std::string_view op, ShapeView normalized,
                                        std::initializer_list<NamedArgument> arguments);
/// Statistics have one number for each row.
[[nodiscard]] diopiError_t check_per_row(std::string_view op, const RowShape& rows,
                                         std::initializer_list<NamedArgument> arguments);

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

/// A tensor (N, C, ...) whose rows are the groups of each sample: `width` channels of `inner` elements each.
struct GroupShape {
    int64_t samples = 1, channels = 1, width = 1, inner = 1;
    RowShape rows{};
};

/// The arguments of diopiGroupNorm in their order.
struct GroupNorm {
    std::string_view op;
    diopiTensorHandle_t out, save_mean, save_invstd;
    diopiConstTensorHandle_t input, weight, bias;
    int64_t groups;
    double eps;
    GroupShape shape{};  ///< set by read_group_norm
};

/// The arguments of diopiGroupNormBackward in their order.
struct GroupNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, mean, rstd;
    int64_t groups;
    GroupShape shape{};  ///< set by read_group_norm
    double eps = 0;      ///< of statistics that are computed anew, where mean and rstd are null
};

/// Refuses tensors that do not fit the input, whose channels must be a multiple of the groups.
[[nodiscard]] diopiError_t read_group_norm(GroupNorm& a);
[[nodiscard]] diopiError_t read_group_norm(GroupNormGradient& a);

/// The arguments of diopiInstanceNorm in their order.
struct InstanceNorm {
    std::string_view op;
    diopiTensorHandle_t output;
    diopiConstTensorHandle_t input;
    int64_t axis;
    diopiConstTensorHandle_t scale, bias;
    double eps;
};

/// The arguments of diopiInstanceNormBackward in their order.
struct InstanceNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_scale, grad_bias;
    diopiConstTensorHandle_t grad_output, input, scale, bias;
    int64_t axis;
    double eps;
};

/// Refuses tensors that do not fit the input (N, C, ...), and an axis other than 1; the same as groups of one channel.
[[nodiscard]] diopiError_t read_instance_norm(const InstanceNorm& a, GroupNorm& groups);
[[nodiscard]] diopiError_t read_instance_norm(const InstanceNormGradient& a, GroupNormGradient& groups);

}  // namespace diopi::operands
