/// Normalisation of all of the last dimensions together.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

diopiError_t layer_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                        diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t normalized_shape,
                        double eps) {
    return normalise_rows(ctx, {out, save_mean, save_invstd, input, weight, bias}, eps,
                          [&](ShapeView shape) { return LayerRows(shape, list_of(normalized_shape)); });
}

diopiError_t layer_norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight, diopiConstTensorHandle_t,
                                 diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
                                 diopiSize_t normalized_shape) {
    return normalise_rows_backward(ctx, {grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, rstd},
                                   [&](ShapeView shape) { return LayerRows(shape, list_of(normalized_shape)); });
}

}  // namespace

#include "kernels/entries/norm_layer.inc"

}  // namespace diopi::reference
