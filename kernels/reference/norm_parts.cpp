/// The parts of a batch normalisation that synchronises over devices.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_channels.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// mean and 1 / sqrt(biased variance + eps) of each channel.
diopiError_t find_statistics(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t mean,
                             diopiTensorHandle_t invstd, diopiConstTensorHandle_t input, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        Output<T> means(mean, "mean");
        Output<T> invstds(invstd, "invstd");
        const Channels at(x.shape());
        require_channels(means, "mean", at);
        require_channels(invstds, "invstd", at);
        const auto* from = x.data();
        for (int64_t c = 0; c < at.channels; ++c) {
            const T centre = at.sum<T>(c, [=](int64_t i) { return T(from[i]); }) / at.per_channel();
            const T squares = at.sum<T>(c, [=](int64_t i) { return (from[i] - centre) * (from[i] - centre); });
            means[c] = centre;
            invstds[c] = batch_invstd<T>(squares / at.per_channel(), eps);
        }
        means.store();
        invstds.store();
    });
}

/// With n_w the counts, N their sum: mean = sum(n_w mean_w) / N, the variance = sum(n_w (v_w + (mean_w - mean)^2)) / N,
/// v_w = 1 / invstd_w^2 - eps; the running variance moves to the unbiased one, of N - 1. No element of input is read.
diopiError_t merge_statistics(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t mean,
                              diopiTensorHandle_t invstd, diopiConstTensorHandle_t, diopiConstTensorHandle_t mean_all,
                              diopiConstTensorHandle_t invstd_all, diopiTensorHandle_t running_mean,
                              diopiTensorHandle_t running_var, float momentum, float eps,
                              diopiConstTensorHandle_t counts) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using Inout = Output<T>;
        const Operand<T> means(mean_all, "mean_all");
        const Operand<T> invstds(invstd_all, "invstd_all");
        const Operand<double> n(counts, "counts");
        Output<T> merged(mean, "mean");
        Output<T> merged_invstd(invstd, "invstd");
        Inout moving_mean(running_mean, "running_mean?", Inout::Start::kOldValues);
        Inout moving_var(running_var, "running_var?", Inout::Start::kOldValues);
        if (means.rank() != 2) refuse("mean_all has shape " + to_string(means.shape()) + ", wanted (W, C)");
        const int64_t workers = means.size(0), channels = means.size(1), per_worker[] = {workers}, one[] = {channels};
        require_shape("invstd_all", invstds.shape(), means.shape());
        require_shape("counts", n.shape(), per_worker);
        require_shape("mean", merged.shape(), one);
        require_shape("invstd", merged_invstd.shape(), one);
        if (moving_mean) require_shape("running_mean", moving_mean.shape(), one);
        if (moving_var) require_shape("running_var", moving_var.shape(), one);
        const double total = pairwise_sum<double>(workers, [&](int64_t w) { return n[w]; });
        const double share = static_cast<double>(momentum), addend = static_cast<double>(eps);
        for (int64_t c = 0; c < channels; ++c) {
            const auto mean_of = [&](int64_t w) { return T(means[w * channels + c]); };
            const T centre = pairwise_sum<T>(workers, [&](int64_t w) { return T(n[w]) * mean_of(w); }) / total;
            const T squares = pairwise_sum<T>(workers, [&](int64_t w) {
                const T deviation = 1.0 / T(invstds[w * channels + c]), distance = mean_of(w) - centre;
                return T(n[w]) * (deviation * deviation - addend + distance * distance);
            });
            merged[c] = centre;
            merged_invstd[c] = batch_invstd<T>(squares / total, addend);
            if (moving_mean) moving_mean[c] = (1.0 - share) * moving_mean[c] + share * centre;
            if (moving_var) moving_var[c] = (1.0 - share) * moving_var[c] + share * (squares / (total - 1.0));
        }
        merged.store();
        merged_invstd.store();
        moving_mean.store();
        moving_var.store();
    });
}

/// (x - mean) * invstd * weight + bias; eps is part of invstd.
diopiError_t normalise_channels(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
                                diopiConstTensorHandle_t invstd, float) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        const Operand<T> w(weight, "weight?");
        const Operand<T> b(bias, "bias?");
        const Operand<T> centre(mean, "mean");
        const Operand<T> spread(invstd, "invstd");
        WriteOnly<T> y(out, "out");
        const Channels at(x.shape());
        require_shape("out", y.shape(), x.shape());
        require_channels(w, "weight", at);
        require_channels(b, "bias", at);
        require_channels(centre, "mean", at);
        require_channels(spread, "invstd", at);
        for (int64_t c = 0; c < at.channels; ++c) {
            const T scale = w ? T(spread[c]) * w[c] : T(spread[c]), shift = b ? T(b[c]) : T(0);
            at.for_each(c, [&](int64_t i) { y[i] = normalised(T(x[i]), T(centre[c]), scale, shift); });
        }
        y.store();
    });
}

/// sum_dy = grad_bias = sum(g), sum_dy_xmu = sum(g * (x - mean)), grad_weight = sum_dy_xmu * invstd.
diopiError_t sum_gradients(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t sum_dy,
                           diopiTensorHandle_t sum_dy_xmu, diopiTensorHandle_t grad_weight,
                           diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t mean,
                           diopiConstTensorHandle_t invstd, diopiConstTensorHandle_t weight, bool input_g,
                           bool weight_g, bool bias_g) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_out, "grad_out");
        const Operand<T> x(input, "input");
        const Operand<T> centre(mean, "mean");
        const Operand<T> spread(invstd, "invstd");
        const Operand<T> w(weight, "weight?");
        Output<T> sums(input_g ? sum_dy : nullptr, "sum_dy?");
        Output<T> products(input_g ? sum_dy_xmu : nullptr, "sum_dy_xmu?");
        Output<T> gw(weight_g ? grad_weight : nullptr, "grad_weight?");
        Output<T> gb(bias_g ? grad_bias : nullptr, "grad_bias?");
        const Channels at(x.shape());
        require_shape("grad_out", g.shape(), x.shape());
        require_channels(centre, "mean", at);
        require_channels(spread, "invstd", at);
        require_channels(w, "weight", at);
        require_channels(sums, "sum_dy", at);
        require_channels(products, "sum_dy_xmu", at);
        require_channels(gw, "grad_weight", at);
        require_channels(gb, "grad_bias", at);
        for (int64_t c = 0; c < at.channels; ++c) {
            const T sum = at.sum<T>(c, [&](int64_t i) { return T(g[i]); });
            const T product = at.sum<T>(c, [&](int64_t i) { return g[i] * (x[i] - T(centre[c])); });
            if (sums) sums[c] = sum;
            if (products) products[c] = product;
            if (gw) gw[c] = product * spread[c];
            if (gb) gb[c] = sum;
        }
        sums.store();
        products.store();
        gw.store();
        gb.store();
    });
}

/// (g - sum_dy / n - (x - mean) * invstd^2 * sum_dy_xmu / n) * invstd * weight, n the sum of count.
diopiError_t map_gradients(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t mean, diopiConstTensorHandle_t invstd,
                           diopiConstTensorHandle_t weight, diopiConstTensorHandle_t sum_dy,
                           diopiConstTensorHandle_t sum_dy_xmu, diopiConstTensorHandle_t count) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_out, "grad_out");
        const Operand<T> x(input, "input");
        const Operand<T> centre(mean, "mean");
        const Operand<T> spread(invstd, "invstd");
        const Operand<T> w(weight, "weight?");
        const Operand<T> sums(sum_dy, "sum_dy");
        const Operand<T> products(sum_dy_xmu, "sum_dy_xmu");
        const Operand<double> counts(count, "count");
        WriteOnly<T> gx(grad_input, "grad_input");
        const Channels at(x.shape());
        require_shape("grad_out", g.shape(), x.shape());
        require_shape("grad_input", gx.shape(), x.shape());
        require_channels(centre, "mean", at);
        require_channels(spread, "invstd", at);
        require_channels(w, "weight", at);
        require_channels(sums, "sum_dy", at);
        require_channels(products, "sum_dy_xmu", at);
        const double n = pairwise_sum<double>(counts.numel(), [&](int64_t i) { return counts[i]; });
        for (int64_t c = 0; c < at.channels; ++c) {
            const T invstd_of = spread[c], scale = w ? invstd_of * w[c] : invstd_of;
            const T mean_g = sums[c] / T(n), slope = products[c] / T(n) * invstd_of * invstd_of;
            at.for_each(c, [&](int64_t i) { gx[i] = (g[i] - mean_g - (x[i] - T(centre[c])) * slope) * scale; });
        }
        gx.store();
    });
}

}  // namespace

#include "kernels/entries/norm_parts.inc"

}  // namespace diopi::reference
