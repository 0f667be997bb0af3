/// Normalisation of rows: all of the last dimensions together.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

namespace {

/// A tensor as `count` rows of `size` elements.
struct RowShape {
    Shape leading, normalized;
    int64_t count, size;

    RowShape(ShapeView input, ShapeView last) : normalized(last.begin(), last.end()) {
        if (last.empty() || last.size() > input.size() || !same_shape(input.last(last.size()), last)) {
            refuse("input has shape " + to_string(input) + ", wanted one that ends in normalized_shape " +
                   to_string(last));
        }
        const ShapeView first = input.first(input.size() - last.size());
        leading.assign(first.begin(), first.end());
        count = numel(leading);
        size = numel(normalized);
    }
};

template <class Argument>
void require_affine(const Argument& argument, std::string_view name, const RowShape& rows) {
    if (argument) require_shape(name, argument.shape(), rows.normalized);
}

/// One number per row: PyTorch keeps the normalised dimensions with size 1.
template <class Argument>
void require_per_row(const Argument& argument, std::string_view name, const RowShape& rows) {
    if (argument && argument.numel() != rows.count) require_shape(name, argument.shape(), rows.leading);
}

/// out = (x - mean) * invstd * weight + bias, mean and biased variance of each row. Rows without elements have NaN as
/// statistics, as has the invstd of a negative variance + eps.
diopiError_t layer_norm(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiTensorHandle_t save_mean,
                        diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t normalized_shape,
                        double eps) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight?");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out");
        Output<double> kept_mean(save_mean, "save_mean?");
        Output<double> kept_invstd(save_invstd, "save_invstd?");
        const RowShape rows(x.shape(), list_of(normalized_shape));
        require_shape("out", y.shape(), x.shape());
        require_affine(w, "weight", rows);
        require_affine(b, "bias", rows);
        require_per_row(kept_mean, "save_mean", rows);
        require_per_row(kept_invstd, "save_invstd", rows);
        const auto n = static_cast<double>(rows.size);
        for (int64_t r = 0; r < rows.count; ++r) {
            const double* from = x.data() + r * rows.size;
            double* to = y.data() + r * rows.size;
            const double mean = pairwise_sum<double>(rows.size, [=](int64_t i) { return from[i]; }) / n;
            const double squares =
                pairwise_sum<double>(rows.size, [=](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
            const double invstd = 1.0 / std::sqrt(squares / n + eps);
            for (int64_t i = 0; i < rows.size; ++i) {
                to[i] = (from[i] - mean) * invstd * (w ? w[i] : 1.0) + (b ? b[i] : 0.0);
            }
            if (kept_mean) kept_mean[r] = mean;
            if (kept_invstd) kept_invstd[r] = invstd;
        }
        y.store();
        kept_mean.store();
        kept_invstd.store();
    });
}

/// With xhat = (x - mean) * rstd and h = g * weight: grad_bias = sum(g) and grad_weight = sum(g * xhat) over the rows,
/// grad_input = rstd * (h - average(h) - xhat * average(h * xhat)), averages over each row.
diopiError_t layer_norm_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight, diopiConstTensorHandle_t,
                                 diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
                                 diopiSize_t normalized_shape) {
    return kernel([&] {
        const Operand<double> grad(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight?");
        const Operand<double> centre(mean, "mean");
        const Operand<double> spread(rstd, "rstd");
        Output<double> gx(grad_input, "grad_input?");
        Output<double> gw(grad_weight, "grad_weight?", Output<double>::Start::kZero);
        Output<double> gb(grad_bias, "grad_bias?", Output<double>::Start::kZero);
        const RowShape rows(x.shape(), list_of(normalized_shape));
        require_shape("grad_output", grad.shape(), x.shape());
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        require_affine(w, "weight", rows);
        require_affine(gw, "grad_weight", rows);
        require_affine(gb, "grad_bias", rows);
        require_per_row(centre, "mean", rows);
        require_per_row(spread, "rstd", rows);
        const auto n = static_cast<double>(rows.size);
        for (int64_t r = 0; r < rows.count; ++r) {
            const int64_t first = r * rows.size;
            const auto xhat = [&](int64_t i) { return (x[first + i] - centre[r]) * spread[r]; };
            const auto h = [&](int64_t i) { return grad[first + i] * (w ? w[i] : 1.0); };
            for (int64_t i = 0; gw && i < rows.size; ++i) gw[i] += grad[first + i] * xhat(i);
            for (int64_t i = 0; gb && i < rows.size; ++i) gb[i] += grad[first + i];
            if (!gx) continue;
            const double mean_h = pairwise_sum<double>(rows.size, h) / n;
            const double mean_hx = pairwise_sum<double>(rows.size, [&](int64_t i) { return h(i) * xhat(i); }) / n;
            for (int64_t i = 0; i < rows.size; ++i) {
                gx[first + i] = spread[r] * (h(i) - mean_h - xhat(i) * mean_hx);
            }
        }
        gx.store();
        gw.store();
        gb.store();
    });
}

}  // namespace

#include "kernels/entries/norm_layer.inc"

}  // namespace diopi::reference
