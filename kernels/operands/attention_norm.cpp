#include "kernels/operands/attention_norm.hpp"

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t read_rms_norm(RmsNorm& a) {
    const View x = view(a.input);
    const ShapeView normalized = list_of(a.normalized_shape);
    diopiError_t error = read_rows(a.op, x, normalized, a.rows);
    if (error == diopiSuccess) error = check_shape(a.op, "out", view(a.out), x.shape);
    if (error == diopiSuccess) error = check_affine(a.op, normalized, {{a.weight, "weight"}, {a.bias, "bias"}});
    return error == diopiSuccess ? check_per_row(a.op, a.rows, {{a.inv_rms, "inv_rms"}}) : error;
}

diopiError_t read_rms_norm(RmsNormGradient& a) {
    const View x = view(a.input);
    const ShapeView normalized = list_of(a.normalized_shape);
    diopiError_t error = read_rows(a.op, x, normalized, a.rows);
    if (error == diopiSuccess) error = check_shape(a.op, "grad_output", view(a.grad_output), x.shape);
    if (error == diopiSuccess) error = check_shape(a.op, "grad_input", view(a.grad_input), x.shape);
    if (error == diopiSuccess) {
        error = check_affine(
            a.op, normalized,
            {{a.weight, "weight"}, {a.bias, "bias"}, {a.grad_weight, "grad_weight"}, {a.grad_bias, "grad_bias"}});
    }
    return error == diopiSuccess ? check_per_row(a.op, a.rows, {{a.inv_rms, "inv_rms"}}) : error;
}

diopiError_t read_rms_norm(RmsNormInPlace& a) {
    const View x = view(a.inoutput);
    if (x.rank() != 2) return wrong_shape(a.op, "inoutput", x.shape, "(tokens, hidden)");
    diopiError_t error = read_rows(a.op, x, x.shape.last(1), a.rows);
    if (error == diopiSuccess) error = check_affine(a.op, x.shape.last(1), {{a.scale, "scale"}, {a.bias, "bias"}});
    return error == diopiSuccess ? check_shape_or_null(a.op, "residual", a.residual, x.shape) : error;
}

}  // namespace diopi::operands
