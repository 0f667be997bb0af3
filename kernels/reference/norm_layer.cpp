/// Normalisation of all of the last dimensions together.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A row is what the leading dimensions choose; each of its elements has parameters of its own.
struct LayerRows {
    Shape statistics, parameters;
    int64_t count, size;

    LayerRows(ShapeView input, ShapeView last) : parameters(last.begin(), last.end()) {
        if (last.empty() || last.size() > input.size() || !same_shape(input.last(last.size()), last)) {
            refuse("input has shape " + to_string(input) + ", wanted one that ends in normalized_shape " +
                   to_string(last));
        }
        const ShapeView first = input.first(input.size() - last.size());
        statistics.assign(first.begin(), first.end());
        count = numel(statistics);
        size = numel(parameters);
    }

    [[nodiscard]] static int64_t parameter(int64_t, int64_t i) { return i; }
};

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
