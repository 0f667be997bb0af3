#include "kernels/operands/norm.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_batch_norm(const BatchNorm& a, const View& out) {
    if (const diopiError_t error = check_computable(a.op, "input", a.input); error != diopiSuccess) return error;
    const ShapeView shape = a.input.shape;
    if (shape.size() < 2 || shape.size() > kMaxRank) {
        return wrong_shape(a.op, "input", shape, "(N, C) or (N, C, ...)");
    }
    if (!std::ranges::equal(out.shape, shape)) return wrong_shape(a.op, "out", out.shape, "that of input");
    for (const diopiConstTensorHandle_t each : {a.weight, a.bias, a.mean, a.variance}) {
        if (each != nullptr && view(each).numel != a.channels()) {
            return wrong_shape(a.op, "a parameter", view(each).shape, to_string(shape.subspan(1, 1)));
        }
    }
    if (!a.training && (a.mean == nullptr || a.variance == nullptr)) {
        return refuse(a.op, "running_mean and running_var are needed when training is false");
    }
    return diopiSuccess;
}

namespace {

/// An argument that may be null, and its name.
using Argument = std::pair<diopiConstTensorHandle_t, std::string_view>;

diopiError_t read_rows(std::string_view op, const View& x, ShapeView normalized, RowShape& rows) {
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    const bool fits = !normalized.empty() && normalized.size() <= x.shape.size();
    if (!fits || !std::ranges::equal(x.shape.last(normalized.size()), normalized)) {
        return wrong_shape(op, "input", x.shape, "one that ends in normalized_shape " + to_string(normalized));
    }
    rows = {numel(x.shape.first(x.shape.size() - normalized.size())), numel(normalized)};
    return diopiSuccess;
}

/// Parameters and their gradients have the normalised shape.
diopiError_t check_affine(std::string_view op, ShapeView normalized, std::initializer_list<Argument> arguments) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr) continue;
        const diopiError_t error = check_shape(op, argument, view(tensor), normalized);
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

/// Statistics have one number for each row.
diopiError_t check_per_row(std::string_view op, const RowShape& rows, std::initializer_list<Argument> arguments) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr || view(tensor).numel == rows.count) continue;
        return wrong_shape(op, argument, view(tensor).shape,
                           std::to_string(rows.count) + " elements, one for each row");
    }
    return diopiSuccess;
}

}  // namespace

diopiError_t read_layer_norm(LayerNorm& a) {
    const View x = view(a.input);
    diopiError_t error = read_rows(a.op, x, a.normalized, a.rows);
    if (error == diopiSuccess) error = check_shape(a.op, "out", view(a.out), x.shape);
    if (error == diopiSuccess) error = check_affine(a.op, a.normalized, {{a.weight, "weight"}, {a.bias, "bias"}});
    if (error != diopiSuccess) return error;
    return check_per_row(a.op, a.rows, {{a.save_mean, "save_mean"}, {a.save_invstd, "save_invstd"}});
}

diopiError_t read_layer_norm(LayerNormGradient& a) {
    const View x = view(a.input);
    for (const auto& [tensor, argument] : {Argument{a.mean, "mean"}, {a.rstd, "rstd"}}) {
        if (tensor == nullptr) {
            return refuse(
                a.op, std::string(argument) + " is null, wanted one number for each row, as diopiLayerNorm saves it");
        }
    }
    diopiError_t error = read_rows(a.op, x, a.normalized, a.rows);
    if (error == diopiSuccess) error = check_shape(a.op, "grad_output", view(a.grad_output), x.shape);
    if (error == diopiSuccess && a.grad_input != nullptr) {
        error = check_shape(a.op, "grad_input", view(a.grad_input), x.shape);
    }
    if (error == diopiSuccess) {
        error = check_affine(a.op, a.normalized,
                             {{a.weight, "weight"}, {a.grad_weight, "grad_weight"}, {a.grad_bias, "grad_bias"}});
    }
    if (error != diopiSuccess) return error;
    return check_per_row(a.op, a.rows, {{a.mean, "mean"}, {a.rstd, "rstd"}});
}

}  // namespace diopi::operands
