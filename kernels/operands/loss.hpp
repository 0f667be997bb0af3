/// The arguments of losses over classes, and of losses of each element, read and checked. Shared by the backends cpu
/// and cuda.
#pragma once

#include <diopi/diopirt.h>

#include <string_view>
#include <vector>

#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The arguments that all losses share. The classes are dimension 1 of input, or dimension 0 of a 1-dim input; each
/// element of the other dimensions is a sample.
struct Loss {
    std::string_view op;
    View input, target;
    diopiConstTensorHandle_t weight = nullptr;
    diopiReduction_t reduction = ReductionMean;
    int64_t ignore_index = -100;
    bool takes_probabilities = false;  ///< as targets, beside class numbers: cross_entropy
    double smoothing = 0;              ///< below 0: none; read_loss sets it to 0
    // Set by read_loss.
    Shape sample_shape{};
    View weights{};  ///< without data where there are none

    [[nodiscard]] size_t class_dim() const { return input.shape.size() == 1 ? 0 : 1; }
    [[nodiscard]] int64_t classes() const { return input.shape[class_dim()]; }
    [[nodiscard]] int64_t samples() const { return numel(sample_shape); }
    /// Whether the target is a share for each class, in the shape of input.
    [[nodiscard]] bool has_probabilities() const;
    /// The stride of the classes in a tensor in the shape of input.
    [[nodiscard]] int64_t class_stride(const View& v) const { return v.strides[class_dim()]; }
};

/// Completes `loss`. Refuses dtypes, shapes and a reduction that the losses do not take.
[[nodiscard]] diopiError_t read_loss(Loss& loss);
/// Refuses a loss, or its gradient, that is not one element, or one for each sample under ReductionNone.
[[nodiscard]] diopiError_t check_reduced(const Loss& loss, std::string_view argument, const View& v);
/// read_loss for the backward functions. Refuses gradients that do not fit the loss.
[[nodiscard]] diopiError_t read_gradient(Loss& loss, const View& grad_input, const View& grad_output);

/// A weight of a loss, which broadcasts to its input; null: 1 for all.
struct LossWeight {
    diopiConstTensorHandle_t tensor;
    std::string_view name;
};

/// The arguments that losses of each element share.
struct ElementLoss {
    std::string_view op;
    diopiReduction_t reduction;
    View input, target;
    std::vector<LossWeight> weights{};
    /// The operands of an element: grad_output for a gradient, input, target, and the weights. Set by the functions
    /// below.
    std::vector<View> ins{};

    /// Whether float32 does not hold all operands.
    [[nodiscard]] bool computes_in_float64() const;
};

/// Sets `ins`. Refuses tensors that are not real, an input that is not floating, a target of another shape, weights
/// that do not broadcast to it, a reduction that does not exist, and an out that does not fit it.
[[nodiscard]] diopiError_t read_element_loss(ElementLoss& loss, const View& out);
/// The same for the gradient.
[[nodiscard]] diopiError_t read_element_gradient(ElementLoss& loss, const View& grad_input, const View& grad_output);

}  // namespace diopi::operands
