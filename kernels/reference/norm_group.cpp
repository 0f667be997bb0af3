/// Normalisation of groups of channels.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// A row is a group of one sample: `width` channels of `inner` elements each. The parameters are the channels'.
struct GroupRows {
    Shape statistics, parameters;
    int64_t groups, count = 0, size = 0, width = 0, inner = 0;

    GroupRows(ShapeView input, int64_t num_groups) : groups(num_groups) {
        if (input.size() < 2 || groups < 1 || input[1] % groups != 0) {
            refuse("input has shape " + to_string(input) + ", wanted (N, C, ...) with a C that num_groups " +
                   std::to_string(groups) + " divides");
        }
        statistics = {input[0], groups};
        parameters = {input[1]};
        width = input[1] / groups;
        inner = numel(input.subspan(2));
        count = numel(statistics);
        size = width * inner;
    }

    [[nodiscard]] int64_t parameter(int64_t r, int64_t i) const { return r % groups * width + i / inner; }
};

diopiError_t group_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                        diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, int64_t num_groups,
                        double eps) {
    return normalise_rows(ctx, {out, save_mean, save_invstd, input, weight, bias}, eps,
                          [&](ShapeView shape) { return GroupRows(shape, num_groups); });
}

diopiError_t group_norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight, diopiConstTensorHandle_t mean,
                                 diopiConstTensorHandle_t rstd, int64_t num_groups) {
    return normalise_rows_backward(ctx, {grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, rstd},
                                   [&](ShapeView shape) { return GroupRows(shape, num_groups); });
}

}  // namespace

#include "kernels/entries/norm_group.inc"

}  // namespace diopi::reference
