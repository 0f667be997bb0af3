/// Normalisation of rows, which layer and group normalisation have in common. `rows`, made of the input's shape, says
/// what a row is: `count` rows of `size` elements, the shapes of `statistics` and `parameters`, and parameter(r, i),
/// the place of the weight and the bias of element i of row r.
#pragma once

#include <cmath>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

template <class Argument, class Rows>
void require_parameter(const Argument& argument, std::string_view name, const Rows& rows) {
    if (argument) require_shape(name, argument.shape(), rows.parameters);
}

/// PyTorch keeps dimensions of size 1 in some statistics.
template <class Argument, class Rows>
void require_statistic(const Argument& argument, std::string_view name, const Rows& rows) {
    if (argument && argument.numel() != rows.count) require_shape(name, argument.shape(), rows.statistics);
}

struct RowNorm {
    diopiTensorHandle_t out, save_mean, save_invstd;
    diopiConstTensorHandle_t input, weight, bias;
};

/// out = (x - mean) * invstd * weight + bias, mean and biased variance of each row. Rows without elements have NaN as
/// statistics, as has the invstd of a negative variance + eps.
template <class MakeRows>
diopiError_t normalise_rows(const RowNorm& a, double eps, const MakeRows& make_rows) {
    return kernel([&] {
        const Operand<double> x(a.input, "input");
        const Operand<double> w(a.weight, "weight?");
        const Operand<double> b(a.bias, "bias?");
        Output<double> y(a.out, "out");
        Output<double> kept_mean(a.save_mean, "save_mean?");
        Output<double> kept_invstd(a.save_invstd, "save_invstd?");
        const auto rows = make_rows(x.shape());
        require_shape("out", y.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(b, "bias", rows);
        require_statistic(kept_mean, "save_mean", rows);
        require_statistic(kept_invstd, "save_invstd", rows);
        const auto n = static_cast<double>(rows.size);
        for (int64_t r = 0; r < rows.count; ++r) {
            const double* from = x.data() + r * rows.size;
            double* to = y.data() + r * rows.size;
            const double mean = pairwise_sum<double>(rows.size, [=](int64_t i) { return from[i]; }) / n;
            const double squares =
                pairwise_sum<double>(rows.size, [=](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
            const double invstd = 1.0 / std::sqrt(squares / n + eps);
            for (int64_t i = 0; i < rows.size; ++i) {
                const int64_t p = rows.parameter(r, i);
                to[i] = (from[i] - mean) * invstd * (w ? w[p] : 1.0) + (b ? b[p] : 0.0);
            }
            if (kept_mean) kept_mean[r] = mean;
            if (kept_invstd) kept_invstd[r] = invstd;
        }
        y.store();
        kept_mean.store();
        kept_invstd.store();
    });
}

struct RowNormGradient {
    diopiTensorHandle_t grad_input, grad_weight, grad_bias;
    diopiConstTensorHandle_t grad_output, input, weight, mean, rstd;
};

/// With xhat = (x - mean) * rstd and h = g * weight: grad_bias = sum(g) and grad_weight = sum(g * xhat) over the
/// elements of each parameter, grad_input = rstd * (h - average(h) - xhat * average(h * xhat)), averages over each row.
template <class MakeRows>
diopiError_t normalise_rows_backward(const RowNormGradient& a, const MakeRows& make_rows) {
    return kernel([&] {
        const Operand<double> grad(a.grad_output, "grad_output");
        const Operand<double> x(a.input, "input");
        const Operand<double> w(a.weight, "weight?");
        const Operand<double> centre(a.mean, "mean");
        const Operand<double> spread(a.rstd, "rstd");
        Output<double> gx(a.grad_input, "grad_input?");
        Output<double> gw(a.grad_weight, "grad_weight?", Output<double>::Start::kZero);
        Output<double> gb(a.grad_bias, "grad_bias?", Output<double>::Start::kZero);
        const auto rows = make_rows(x.shape());
        require_shape("grad_output", grad.shape(), x.shape());
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(gw, "grad_weight", rows);
        require_parameter(gb, "grad_bias", rows);
        require_statistic(centre, "mean", rows);
        require_statistic(spread, "rstd", rows);
        const auto n = static_cast<double>(rows.size);
        for (int64_t r = 0; r < rows.count; ++r) {
            const int64_t first = r * rows.size;
            const auto xhat = [&](int64_t i) { return (x[first + i] - centre[r]) * spread[r]; };
            const auto h = [&](int64_t i) { return grad[first + i] * (w ? w[rows.parameter(r, i)] : 1.0); };
            for (int64_t i = 0; gw && i < rows.size; ++i) gw[rows.parameter(r, i)] += grad[first + i] * xhat(i);
            for (int64_t i = 0; gb && i < rows.size; ++i) gb[rows.parameter(r, i)] += grad[first + i];
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

}  // namespace diopi::reference
