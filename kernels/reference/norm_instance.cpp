/// Normalisation of each channel of each sample.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A row is a channel of one sample; all its elements have the parameters of the channel.
struct InstanceRows {
    Shape statistics, parameters;
    int64_t channels, count, size;

    InstanceRows(ShapeView input, int64_t axis) {
        if (input.size() < 3) refuse("input has shape " + to_string(input) + ", wanted (N, C, ...)");
        if (require_dim(axis, std::ssize(input)) != 1) {
            refuse("axis is " + std::to_string(axis) + ", wanted 1, the channels of input");
        }
        channels = input[1];
        statistics = {input[0], channels};
        parameters = {channels};
        count = numel(statistics);
        size = numel(input.subspan(2));
    }

    [[nodiscard]] int64_t parameter(int64_t r, int64_t) const { return r % channels; }
};

diopiError_t instance_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t output,
                           diopiConstTensorHandle_t input, int64_t axis, diopiConstTensorHandle_t scale,
                           diopiConstTensorHandle_t bias, double eps) {
    return normalise_rows(ctx, {output, nullptr, nullptr, input, scale, bias}, eps,
                          [&](ShapeView shape) { return InstanceRows(shape, axis); });
}

/// The statistics are computed anew.
diopiError_t instance_norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                    diopiTensorHandle_t grad_scale, diopiTensorHandle_t grad_bias,
                                    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                    diopiConstTensorHandle_t scale, diopiConstTensorHandle_t bias, int64_t axis,
                                    double eps) {
    return normalise_rows_backward(
        ctx, {grad_input, grad_scale, grad_bias, grad_output, input, scale, nullptr, nullptr, eps},
        [&](ShapeView shape) {
            InstanceRows rows(shape, axis);
            if (bias != nullptr) require_shape("bias", view_of(bias).shape, rows.parameters);
            return rows;
        });
}

}  // namespace

#include "kernels/entries/norm_instance.inc"

}  // namespace diopi::reference
