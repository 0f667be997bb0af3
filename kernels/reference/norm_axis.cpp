/// Normalisation of rows, whose first dimension a number names.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

LayerRows rows_from(ShapeView input, int64_t axis) {
    if (axis < 0 || axis >= std::ssize(input)) {
        refuse("begin_norm_axis is " + std::to_string(axis) + ", which is no dim of input " + to_string(input));
    }
    return {input, input.subspan(static_cast<size_t>(axis))};
}

diopiError_t layer_norm_axis(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                             diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                             diopiConstTensorHandle_t bias, double eps, int64_t axis) {
    return normalise_rows(ctx, {out, running_mean, running_var, input, weight, bias}, eps,
                          [&](ShapeView shape) { return rows_from(shape, axis); });
}

diopiError_t layer_norm_axis_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                      diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                      diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd, int64_t axis) {
    return normalise_rows_backward(ctx, {grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, rstd},
                                   [&](ShapeView shape) {
                                       LayerRows rows = rows_from(shape, axis);
                                       if (bias != nullptr) {
                                           require_shape("bias", view_of(bias).shape, rows.parameters);
                                       }
                                       return rows;
                                   });
}

}  // namespace

#include "kernels/entries/norm_axis.inc"

}  // namespace diopi::reference
