/// The arguments of normalisation by the root mean square, checked. Shared by the backends cpu and cuda.
#pragma once

#include "kernels/operands/norm.hpp"

namespace diopi::operands {

/// The arguments of diopiRMSNorm in their order.
struct RmsNorm {
    std::string_view op;
    diopiTensorHandle_t out, inv_rms;
    diopiConstTensorHandle_t input;
    diopiSize_t normalized_shape;
    diopiConstTensorHandle_t weight, bias;
    double eps;
    RowShape rows{};  ///< set by read_rms_norm
};

/// The arguments of diopiRMSNormBackward in their order.
struct RmsNormGradient {
    std::string_view op;
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, bias, inv_rms;
    diopiSize_t normalized_shape;
    double eps;
    RowShape rows{};  ///< set by read_rms_norm
};

/// The arguments of diopiRootMeanSquareNormInp, or of diopiFusedAddRootMeanSquareNormInp, which has a residual.
struct RmsNormInPlace {
    std::string_view op;
    diopiTensorHandle_t inoutput, residual;
    diopiConstTensorHandle_t bias, scale;
    double eps;
    RowShape rows{};  ///< set by read_rms_norm
};

/// Refuses tensors that do not fit the input, whose last dimensions must be the normalised shape; in place (tokens,
/// hidden).
[[nodiscard]] diopiError_t read_rms_norm(RmsNorm& a);
[[nodiscard]] diopiError_t read_rms_norm(RmsNormGradient& a);
[[nodiscard]] diopiError_t read_rms_norm(RmsNormInPlace& a);

}  // namespace diopi::operands
