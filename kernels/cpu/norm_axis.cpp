/// Normalisation of rows, whose first dimension a number names: layer normalisation over the dimensions from there on.
#include "kernels/cpu/norm_layer.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/refusal.hpp"

namespace diopi::cpu {

namespace {

/// The shape of input from dim `axis` on.
diopiError_t shape_from(std::string_view op, const View& input, int64_t axis, diopiSize_t& normalized) {
    if (axis < 0 || axis >= input.rank()) {
        return refuse(
            op, "begin_norm_axis is " + std::to_string(axis) + ", which is no dim of input " + to_string(input.shape));
    }
    normalized = {input.shape.data() + axis, input.rank() - axis};
    return diopiSuccess;
}

diopiError_t layer_norm_axis(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                             diopiConstTensorHandle_t bias, double eps, int64_t axis) {
    LayerNorm a{op, out, running_mean, running_var, input, weight, bias, {}, eps};
    const View x = view(input);
    const diopiError_t error = shape_from(op, x, axis, a.normalized_shape);
    return error != diopiSuccess ? error : normalise_layer(ctx, a);
}

diopiError_t layer_norm_axis_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                                      diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                      diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                                      diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd, int64_t axis) {
    LayerNormGradient a{op, grad_input, grad_weight, grad_bias, grad_output, input, weight, bias, mean, rstd, {}};
    const View x = view(input);
    diopiError_t error = shape_from(op, x, axis, a.normalized_shape);
    if (error == diopiSuccess) error = check_shape_or_null(op, "bias", bias, list_of(a.normalized_shape));
    return error != diopiSuccess ? error : normalise_layer_backward(ctx, a);
}

}  // namespace

#include "kernels/entries/norm_axis.inc"

}  // namespace diopi::cpu
