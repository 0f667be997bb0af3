/// Normalisation of rows, which layer and group normalisation have in common. `rows`, made of the input's shape, says
/// what a row is: `count` rows of `size` elements, the shapes of `statistics` and `parameters`, and parameter(r, i),
/// the place of the weight and the bias of element i of row r.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "kernels/reference/operand.hpp"
#include "kernels/reference/sum.hpp"

namespace diopi::reference {

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

template <class T>
struct Moments {
    T mean, invstd;
};

/// The mean of n numbers and 1 / sqrt(biased variance + eps).
template <class T, class Stored>
Moments<T> moments_of(const Stored* x, int64_t n, double eps) {
    using std::sqrt;
    const auto count = static_cast<double>(n);
    const T mean = pairwise_sum<T>(n, [=](int64_t i) { return T(x[i]); }) / count;
    const T squares = pairwise_sum<T>(n, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    return {mean, 1.0 / sqrt(squares / count + eps)};
}

/// out = (x - mean) * invstd * weight + bias, mean and biased variance of each row. Rows without elements have NaN as
/// statistics, as has the invstd of a negative variance + eps.
template <class MakeRows>
diopiError_t normalise_rows(diopiContextHandle_t ctx, const RowNorm& a, double eps, const MakeRows& make_rows) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(a.input, "input");
        const Operand<T> w(a.weight, "weight?");
        const Operand<T> b(a.bias, "bias?");
        WriteOnly<T> y(a.out, "out");
        Output<T> kept_mean(a.save_mean, "save_mean?");
        Output<T> kept_invstd(a.save_invstd, "save_invstd?");
        const auto rows = make_rows(x.shape());
        require_shape("out", y.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(b, "bias", rows);
        require_statistic(kept_mean, "save_mean", rows);
        require_statistic(kept_invstd, "save_invstd", rows);
        for (int64_t r = 0; r < rows.count; ++r) {
            const auto* from = x.data() + r * rows.size;
            const auto [mean, invstd] = moments_of<T>(from, rows.size, eps);
            for (int64_t i = 0; i < rows.size; ++i) {
                const int64_t p = rows.parameter(r, i);
                y[r * rows.size + i] = normalised(T(from[i]), mean, w ? invstd * w[p] : invstd, b ? T(b[p]) : T(0));
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
    std::optional<double> eps{};  ///< of statistics that are computed anew, in the place of mean and rstd
};

/// With xhat = (x - mean) * rstd and h = g * weight: grad_bias = sum(g) and grad_weight = sum(g * xhat) over the
/// elements of each parameter, grad_input = rstd * (h - average(h) - xhat * average(h * xhat)), averages over each row.
template <class MakeRows>
diopiError_t normalise_rows_backward(diopiContextHandle_t ctx, const RowNormGradient& a, const MakeRows& make_rows) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> grad(a.grad_output, "grad_output");
        const Operand<T> x(a.input, "input");
        const Operand<T> w(a.weight, "weight?");
        const Operand<T> centre(a.mean, a.eps ? "mean?" : "mean");
        const Operand<T> spread(a.rstd, a.eps ? "rstd?" : "rstd");
        WriteOnly<T> gx(a.grad_input, "grad_input?");
        Output<T> gw(a.grad_weight, "grad_weight?");
        Output<T> gb(a.grad_bias, "grad_bias?");
        const auto rows = make_rows(x.shape());
        require_shape("grad_output", grad.shape(), x.shape());
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        require_parameter(w, "weight", rows);
        require_parameter(gw, "grad_weight", rows);
        require_parameter(gb, "grad_bias", rows);
        require_statistic(centre, "mean", rows);
        require_statistic(spread, "rstd", rows);
        const auto n = static_cast<double>(rows.size);
        std::vector<Sum<T>> weight_sums(static_cast<size_t>(gw.numel())), bias_sums(static_cast<size_t>(gb.numel()));
        for (int64_t r = 0; r < rows.count; ++r) {
            const int64_t first = r * rows.size;
            const Moments<T> known =
                a.eps ? moments_of<T>(x.data() + first, rows.size, *a.eps) : Moments<T>{T(centre[r]), T(spread[r])};
            const auto xhat = [&](int64_t i) { return normalised(T(x[first + i]), known.mean, known.invstd, T(0)); };
            const auto h = [&](int64_t i) { return grad[first + i] * (w ? w[rows.parameter(r, i)] : T(1)); };
            for (int64_t i = 0; i < rows.size; ++i) {
                const auto p = static_cast<size_t>(rows.parameter(r, i));
                if (gw) weight_sums[p] += grad[first + i] * xhat(i);
                if (gb) bias_sums[p] += grad[first + i];
            }
            if (!gx) continue;
            const T mean_h = pairwise_sum<T>(rows.size, h) / n;
            const T mean_hx = pairwise_sum<T>(rows.size, [&](int64_t i) { return h(i) * xhat(i); }) / n;
            for (int64_t i = 0; i < rows.size; ++i) {
                gx[first + i] = known.invstd * (h(i) - mean_h - xhat(i) * mean_hx);
            }
        }
        for (int64_t p = 0; p < gw.numel(); ++p) gw[p] = weight_sums[static_cast<size_t>(p)].value();
        for (int64_t p = 0; p < gb.numel(); ++p) gb[p] = bias_sums[static_cast<size_t>(p)].value();
        gx.store();
        gw.store();
        gb.store();
    });
}

}  // namespace diopi::reference
