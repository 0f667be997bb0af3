#include "kernels/operands/norm.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

diopiError_t check_per_channel(std::string_view op, const View& x, std::initializer_list<NamedArgument> arguments) {
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    if (x.rank() < 2 || x.rank() > kMaxRank) return wrong_shape(op, "input", x.shape, "(N, C) or (N, C, ...)");
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr || view(tensor).numel == x.shape[1]) continue;
        return wrong_shape(op, argument, view(tensor).shape, to_string(x.shape.subspan(1, 1)));
    }
    return diopiSuccess;
}

diopiError_t read_rows(std::string_view op, const View& x, ShapeView normalized, RowShape& rows) {
    if (const diopiError_t error = check_computable(op, "input", x); error != diopiSuccess) return error;
    const bool fits = !normalized.empty() && normalized.size() <= x.shape.size();
    if (!fits || !std::ranges::equal(x.shape.last(normalized.size()), normalized)) {
        return wrong_shape(op, "input", x.shape, "one that ends in normalized_shape " + to_string(normalized));
    }
    rows = {numel(x.shape.first(x.shape.size() - normalized.size())), numel(normalized)};
    return diopiSuccess;
}

diopiError_t check_affine(std::string_view op, ShapeView normalized, std::initializer_list<NamedArgument> arguments) {
    for (const auto& [tensor, argument] : arguments) {
        const diopiError_t error = check_shape_or_null(op, argument, tensor, normalized);
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t check_per_row(std::string_view op, const RowShape& rows, std::initializer_list<NamedArgument> arguments) {
    for (const auto& [tensor, argument] : arguments) {
        if (tensor == nullptr || view(tensor).numel == rows.count) continue;
        return wrong_shape(op, argument, view(tensor).shape,
                           std::to_string(rows.count) + " elements, one for each row");
    }
    return diopiSuccess;
}

namespace {

/// Null for an empty tensor: a statistic that a call leaves out.
diopiConstTensorHandle_t unless_empty(diopiConstTensorHandle_t tensor) {
    return tensor == nullptr || view(tensor).numel == 0 ? nullptr : tensor;
}

diopiError_t check_running(std::string_view op, bool training, diopiConstTensorHandle_t mean,
                           diopiConstTensorHandle_t variance) {
    if (training || (mean != nullptr && variance != nullptr)) return diopiSuccess;
    return refuse(op, "running_mean and running_var are needed when training is false");
}

/// Statistics that the forward function saved.
diopiError_t check_saved(std::string_view op, const RowShape& rows, diopiConstTensorHandle_t mean,
                         diopiConstTensorHandle_t rstd) {
    for (const auto& [tensor, argument] : {NamedArgument{mean, "mean"}, {rstd, "rstd"}}) {
        if (tensor != nullptr) continue;
        const std::string forward(op.substr(0, op.find("Backward")));
        return refuse(op,
                      std::string(argument) + " is null, wanted one number for each row, as " + forward + " saves it");
    }
    return check_per_row(op, rows, {{mean, "mean"}, {rstd, "rstd"}});
}

/// An output's gradient, and the input's where it is wanted.
diopiError_t check_gradients(std::string_view op, const View& x, diopiConstTensorHandle_t grad_output,
                             diopiConstTensorHandle_t grad_input) {
    const diopiError_t error = check_shape(op, "grad_output", view(grad_output), x.shape);
    return error != diopiSuccess ? error : check_shape_or_null(op, "grad_input", grad_input, x.shape);
}

}  // namespace

diopiError_t check_batch_norm(const BatchNorm& a) {
    const View x = view(a.input);
    diopiError_t error = check_per_channel(a.op, x,
                                           {{a.weight, "weight"},
                                            {a.bias, "bias"},
                                            {a.running_mean, "running_mean"},
                                            {a.running_var, "running_var"},
                                            {unless_empty(a.save_mean), "save_mean"},
                                            {unless_empty(a.save_invstd), "save_invstd"}});
    if (error == diopiSuccess) error = check_shape(a.op, "out", view(a.out), x.shape);
    return error != diopiSuccess ? error : check_running(a.op, a.training, a.running_mean, a.running_var);
}

diopiError_t check_batch_norm(const BatchNormGradient& a) {
    const View x = view(a.input);
    diopiError_t error = check_per_channel(a.op, x,
                                           {{a.weight, "weight"},
                                            {a.running_mean, "running_mean"},
                                            {a.running_var, "running_var"},
                                            {unless_empty(a.save_mean), "save_mean"},
                                            {unless_empty(a.save_invstd), "save_invstd"},
                                            {a.grad_weight, "grad_weight"},
                                            {a.grad_bias, "grad_bias"}});
    if (error == diopiSuccess) error = check_gradients(a.op, x, a.grad_output, a.grad_input);
    return error != diopiSuccess ? error : check_running(a.op, a.training, a.running_mean, a.running_var);
}

diopiError_t read_layer_norm(LayerNorm& a) {
    const View x = view(a.input);
    diopiError_t error = read_rows(a.op, x, list_of(a.normalized_shape), a.rows);
    if (error == diopiSuccess) error = check_shape(a.op, "out", view(a.out), x.shape);
    if (error == diopiSuccess)
        error = check_affine(a.op, list_of(a.normalized_shape), {{a.weight, "weight"}, {a.bias, "bias"}});
    if (error != diopiSuccess) return error;
    return check_per_row(a.op, a.rows, {{a.save_mean, "save_mean"}, {a.save_invstd, "save_invstd"}});
}

diopiError_t read_layer_norm(LayerNormGradient& a) {
    const View x = view(a.input);
    diopiError_t error = read_rows(a.op, x, list_of(a.normalized_shape), a.rows);
    if (error == diopiSuccess) error = check_gradients(a.op, x, a.grad_output, a.grad_input);
    if (error == diopiSuccess) {
        error = check_affine(a.op, list_of(a.normalized_shape),
                             {{a.weight, "weight"}, {a.grad_weight, "grad_weight"}, {a.grad_bias, "grad_bias"}});
    }
    if (error != diopiSuccess) return error;
    return check_saved(a.op, a.rows, a.mean, a.rstd);
}

namespace {

diopiError_t read_groups(std::string_view op, const View& x, int64_t groups, GroupShape& s) {
    if (groups < 1 || x.shape[1] % groups != 0) {
        return wrong_shape(op, "input", x.shape,
                           "(N, C, ...) with a C that num_groups " + std::to_string(groups) + " divides");
    }
    s = {x.shape[0], x.shape[1], x.shape[1] / groups, numel(x.shape.subspan(2))};
    s.rows = {s.samples * groups, s.width * s.inner};
    return diopiSuccess;
}

}  // namespace

diopiError_t read_group_norm(GroupNorm& a) {
    const View x = view(a.input);
    diopiError_t error = check_per_channel(a.op, x, {{a.weight, "weight"}, {a.bias, "bias"}});
    if (error == diopiSuccess) error = read_groups(a.op, x, a.groups, a.shape);
    if (error == diopiSuccess) error = check_shape(a.op, "out", view(a.out), x.shape);
    if (error != diopiSuccess) return error;
    return check_per_row(a.op, a.shape.rows, {{a.save_mean, "save_mean"}, {a.save_invstd, "save_invstd"}});
}

diopiError_t read_group_norm(GroupNormGradient& a) {
    const View x = view(a.input);
    diopiError_t error =
        check_per_channel(a.op, x, {{a.weight, "weight"}, {a.grad_weight, "grad_weight"}, {a.grad_bias, "grad_bias"}});
    if (error == diopiSuccess) error = read_groups(a.op, x, a.groups, a.shape);
    if (error == diopiSuccess) error = check_gradients(a.op, x, a.grad_output, a.grad_input);
    return error != diopiSuccess ? error : check_saved(a.op, a.shape.rows, a.mean, a.rstd);
}

namespace {

diopiError_t read_instances(std::string_view op, const View& x, int64_t axis, GroupShape& s) {
    if (x.rank() < 3) return wrong_shape(op, "input", x.shape, "(N, C, ...)");
    if (wrap_dim(axis, x.rank()) != 1) {
        return refuse(op, "axis is " + std::to_string(axis) + ", wanted 1, the channels of input");
    }
    return x.shape[1] == 0 ? diopiSuccess : read_groups(op, x, x.shape[1], s);
}

}  // namespace

diopiError_t read_instance_norm(const InstanceNorm& a, GroupNorm& groups) {
    const View x = view(a.input);
    diopiError_t error = check_per_channel(a.op, x, {{a.scale, "scale"}, {a.bias, "bias"}});
    if (error != diopiSuccess) return error;
    groups = {a.op, a.output, nullptr, nullptr, a.input, a.scale, a.bias, x.shape[1], a.eps};
    error = read_instances(a.op, x, a.axis, groups.shape);
    return error != diopiSuccess ? error : check_shape(a.op, "output", view(a.output), x.shape);
}

diopiError_t read_instance_norm(const InstanceNormGradient& a, GroupNormGradient& groups) {
    const View x = view(a.input);
    diopiError_t error = check_per_channel(
        a.op, x, {{a.scale, "scale"}, {a.bias, "bias"}, {a.grad_scale, "grad_scale"}, {a.grad_bias, "grad_bias"}});
    if (error != diopiSuccess) return error;
    groups = {a.op,    a.grad_input, a.grad_scale, a.grad_bias, a.grad_output, a.input, a.scale,
              nullptr, nullptr,      x.shape[1],   {},          a.eps};
    error = read_instances(a.op, x, a.axis, groups.shape);
    return error != diopiSuccess ? error : check_gradients(a.op, x, a.grad_output, a.grad_input);
}

}  // namespace diopi::operands
