/// Normalisation.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/norm_channels.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// out = (x - mean) * invstd * weight + bias per channel. Training: mean and the biased variance of the batch, kept in
/// save_*; running = (1 - momentum) * running + momentum * batch with the unbiased variance (one element: 0 / 0 = NaN).
/// Else the running statistics. Any momentum and eps are taken; a negative variance + eps gives NaN.
diopiError_t batch_norm(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                        diopiTensorHandle_t save_mean, diopiTensorHandle_t save_invstd, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                        diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var, bool training,
                        double momentum, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::sqrt;
        using Inout = Output<T>;
        const Operand<T> x(input, "input");
        const Operand<T> w(weight, "weight?");
        const Operand<T> b(bias, "bias?");
        Inout moving_mean(running_mean, training ? "running_mean?" : "running_mean", Inout::Start::kOldValues);
        Inout moving_var(running_var, training ? "running_var?" : "running_var", Inout::Start::kOldValues);
        WriteOnly<T> y(out, "out");
        Output<T> kept_mean(training ? save_mean : nullptr, "save_mean?");
        Output<T> kept_invstd(training ? save_invstd : nullptr, "save_invstd?");
        const Channels at(x.shape());
        require_shape("out", y.shape(), x.shape());
        require_channels(w, "weight", at);
        require_channels(b, "bias", at);
        require_channels(moving_mean, "running_mean", at);
        require_channels(moving_var, "running_var", at);
        require_channels(kept_mean, "save_mean", at);
        require_channels(kept_invstd, "save_invstd", at);
        const double n = at.per_channel();
        const auto* from = x.data();
        for (int64_t c = 0; c < at.channels; ++c) {
            T mean = 0.0;
            T invstd = 0.0;
            if (training) {
                mean = at.sum<T>(c, [=](int64_t i) { return T(from[i]); }) / n;
                const T squares = at.sum<T>(c, [=](int64_t i) { return (from[i] - mean) * (from[i] - mean); });
                invstd = batch_invstd<T>(squares / n, eps);
                if (kept_mean) kept_mean[c] = mean;
                if (kept_invstd) kept_invstd[c] = invstd;
                if (moving_mean) moving_mean[c] = (1.0 - momentum) * moving_mean[c] + momentum * mean;
                if (moving_var) moving_var[c] = (1.0 - momentum) * moving_var[c] + momentum * (squares / (n - 1.0));
            } else {
                mean = moving_mean[c];
                invstd = 1.0 / sqrt(moving_var[c] + eps);
            }
            const T scale = w ? invstd * w[c] : invstd;
            const T shift = b ? b[c] : T(0);
            at.for_each(c, [&](int64_t i) { y[i] = normalised(T(from[i]), mean, scale, shift); });
        }
        y.store();
        kept_mean.store();
        kept_invstd.store();
        if (training) {
            moving_mean.store();
            moving_var.store();
        }
    });
}

/// With xhat = (x - mean) * invstd: grad_bias = sum(g), grad_weight = sum(g * xhat); grad_input = weight * invstd * (g
/// - grad_bias/n - xhat * grad_weight/n) in training with the saved statistics, else weight * invstd * g with the
/// running ones.
diopiError_t batch_norm_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
                                 diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
                                 diopiConstTensorHandle_t save_invstd, bool training, double eps) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        using std::sqrt;
        const Operand<T> grad(grad_output, "grad_output");
        const Operand<T> x(input, "input");
        const Operand<T> w(weight, "weight?");
        const Operand<T> centre(training ? save_mean : running_mean, training ? "save_mean" : "running_mean");
        const Operand<T> spread(training ? save_invstd : running_var, training ? "save_invstd" : "running_var");
        WriteOnly<T> gx(grad_input, "grad_input?");
        Output<T> gw(grad_weight, "grad_weight?");
        Output<T> gb(grad_bias, "grad_bias?");
        const Channels at(x.shape());
        require_shape("grad_output", grad.shape(), x.shape());
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        require_channels(w, "weight", at);
        require_channels(centre, training ? "save_mean" : "running_mean", at);
        require_channels(spread, training ? "save_invstd" : "running_var", at);
        require_channels(gw, "grad_weight", at);
        require_channels(gb, "grad_bias", at);
        const double n = at.per_channel();
        const auto* g = grad.data();
        const auto* from = x.data();
        for (int64_t c = 0; c < at.channels; ++c) {
            const T mean = centre[c];
            const T invstd = training ? spread[c] : 1.0 / sqrt(spread[c] + eps);
            const T sum_g = at.sum<T>(c, [=](int64_t i) { return T(g[i]); });
            const T sum_gx = at.sum<T>(c, [=](int64_t i) { return g[i] * (from[i] - mean); }) * invstd;
            if (gb) gb[c] = sum_g;
            if (gw) gw[c] = sum_gx;
            if (!gx) continue;
            const T scale = w ? invstd * w[c] : invstd;
            const T mean_g = training ? sum_g / n : T(0);
            const T slope = training ? sum_gx / n * invstd : T(0);
            if (training) {
                at.for_each(c, [&](int64_t i) { gx[i] = (g[i] - mean_g - (from[i] - mean) * slope) * scale; });
            } else {
                at.for_each(c, [&](int64_t i) { gx[i] = g[i] * scale; });
            }
        }
        gx.store();
        gw.store();
        gb.store();
    });
}

}  // namespace

#include "kernels/entries/norm.inc"

}  // namespace diopi::reference
