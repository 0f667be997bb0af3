/// Batch normalisation. Every element is read twice for the statistics, so that the variance does not cancel.
#include <cmath>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/norm_statistics.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

ChannelShape channels_of(const View& input, const View& out) {
    ChannelShape s{input.shape[0], input.shape[1], 1, Layout::plain};
    for (size_t d = 2; d < input.shape.size(); ++d) s.inner *= input.shape[d];
    const bool last = layout_of(input) == Layout::channels_last && layout_of(out) == Layout::channels_last;
    if (input.rank() == 2 || last) s.layout = Layout::channels_last;
    return s;
}

Layout staged_layout(const ChannelShape& s, const View& input) { return input.rank() == 2 ? Layout::plain : s.layout; }

diopiError_t update_running(diopiContextHandle_t ctx, diopiTensorHandle_t running, const double* batch, double factor,
                            double momentum) {
    if (running == nullptr) return diopiSuccess;
    Staging staging(ctx);
    const View target = view(running);
    const auto* old = staging.in<double>(target);
    auto* updated = staging.out<double>(target);
    if (staging.error() != diopiSuccess) return staging.error();
    for (int64_t c = 0; c < target.numel; ++c) {
        updated[c] = (1 - momentum) * old[c] + momentum * (batch[c] * factor);
    }
    return staging.finish();
}

namespace {

/// Writes a saved statistic unless it is not wanted (null or without elements).
diopiError_t save(diopiContextHandle_t ctx, diopiTensorHandle_t saved, const double* values, int64_t channels) {
    if (saved == nullptr || view(saved).numel != channels) return diopiSuccess;
    Staging staging(ctx);
    auto* to = staging.out<double>(saved);
    if (staging.error() != diopiSuccess) return staging.error();
    std::copy_n(values, channels, to);
    return staging.finish();
}

template <class E, class T>
diopiError_t forward(diopiContextHandle_t ctx, const BatchNorm& a) {
    const View input = view(a.input), out = view(a.out);
    const ChannelShape s = channels_of(input, out);
    Staging staging(ctx);
    const auto* x = staging.in<E>(input, staged_layout(s, input));
    const auto* weight = staging.in<double>(a.weight);
    const auto* bias = staging.in<double>(a.bias);
    auto* y = staging.out<E>(out, staged_layout(s, input));
    auto* rounded = staging.buffer<T>(3 * s.channels);
    auto* exact = staging.buffer<double>(3 * s.channels);
    const auto* old_mean = a.training ? nullptr : staging.in<double>(a.running_mean);
    const auto* old_variance = a.training ? nullptr : staging.in<double>(a.running_var);
    if (staging.error() != diopiSuccess) return staging.error();
    T *mean = rounded, *scale = rounded + s.channels, *shift = rounded + 2 * s.channels;
    double *mean64 = exact, *variance = exact + s.channels, *invstd = exact + 2 * s.channels;
    if (a.training) {
        statistics(s, x, mean64, mean, variance);
    } else {
        std::copy_n(old_mean, s.channels, mean64);
        std::copy_n(old_variance, s.channels, variance);
    }
    for (int64_t c = 0; c < s.channels; ++c) {
        invstd[c] = a.training ? inverse_deviation(variance[c], a.eps) : 1 / std::sqrt(variance[c] + a.eps);
        mean[c] = static_cast<T>(mean64[c]);
        scale[c] = static_cast<T>(weight == nullptr ? invstd[c] : invstd[c] * weight[c]);
        // The shift adds the part of the mean that its rounding removed.
        const double rest = (static_cast<double>(mean[c]) - mean64[c]) * static_cast<double>(scale[c]);
        shift[c] = static_cast<T>((bias == nullptr ? 0 : bias[c]) + (std::isfinite(rest) ? rest : 0));
    }
    for_runs(s, [&](int64_t first, int64_t last) {
        channel_kernels<E, T>().normalize(s, first, last, x, mean, scale, shift, y);
    });
    if (a.training) {
        const auto count = static_cast<double>(s.per_channel());
        const diopiError_t first = update_running(ctx, a.running_mean, mean64, 1, a.momentum);
        const diopiError_t second = update_running(ctx, a.running_var, variance, count / (count - 1), a.momentum);
        if (first != diopiSuccess || second != diopiSuccess) return diopiErrorOccurred;
    }
    const diopiError_t first = save(ctx, a.save_mean, mean64, s.channels);
    const diopiError_t second = save(ctx, a.save_invstd, invstd, s.channels);
    if (first != diopiSuccess || second != diopiSuccess) return diopiErrorOccurred;
    return staging.finish();
}

template <class E, class T>
diopiError_t backward(diopiContextHandle_t ctx, const BatchNormGradient& a) {
    const View input = view(a.input), grad_output = view(a.grad_output);
    const ChannelShape s = channels_of(input, grad_output);
    const Layout layout = staged_layout(s, input);
    const auto is_saved = [&](diopiConstTensorHandle_t statistic) {
        return statistic != nullptr && view(statistic).numel == s.channels;
    };
    const bool has_saved = is_saved(a.save_mean) && is_saved(a.save_invstd);
    Staging staging(ctx);
    const auto* x = staging.in<E>(input, layout);
    const auto* g = staging.in<E>(grad_output, layout);
    const auto* weight = staging.in<double>(a.weight);
    const auto* known_mean = staging.in<double>(a.training ? has_saved ? a.save_mean : nullptr : a.running_mean);
    const auto* known_spread = staging.in<double>(a.training ? has_saved ? a.save_invstd : nullptr : a.running_var);
    auto* gx = staging.out<E>(a.grad_input, layout);
    auto* gw = staging.out<double>(a.grad_weight);
    auto* gb = staging.out<double>(a.grad_bias);
    auto* rounded = staging.buffer<T>(4 * s.channels);
    auto* exact = staging.buffer<double>(4 * s.channels);
    if (staging.error() != diopiSuccess) return staging.error();
    T *mean = rounded, *shift = rounded + s.channels, *slope = shift + s.channels, *scale = slope + s.channels;
    double *mean64 = exact, *invstd = exact + s.channels, *sum = invstd + s.channels, *product = sum + s.channels;
    if (known_mean == nullptr) {
        statistics(s, x, mean64, mean, invstd);
        known_spread = invstd;
    } else {
        std::copy_n(known_mean, s.channels, mean64);
    }
    const auto invstd_of = [&](double spread) {
        if (!a.training) return 1 / std::sqrt(spread + a.eps);
        return has_saved ? spread : inverse_deviation(spread, a.eps);
    };
    for (int64_t c = 0; c < s.channels; ++c) {
        invstd[c] = invstd_of(known_spread[c]);
        mean[c] = static_cast<T>(mean64[c]);
    }
    const auto count = static_cast<double>(s.per_channel());
    const auto& kernels = channel_kernels<E, T>();
    const bool has_sums = a.training || gw != nullptr || gb != nullptr;
    for_channels(s, [&](int64_t first, int64_t last) {
        if (has_sums) kernels.gradient_sums(s, first, last, g, x, mean, sum, product);
    });
    for (int64_t c = 0; c < s.channels; ++c) {
        shift[c] = a.training ? static_cast<T>(sum[c] / count) : T{0};
        slope[c] = a.training ? static_cast<T>(product[c] * invstd[c] * invstd[c] / count) : T{0};
        scale[c] = static_cast<T>(weight == nullptr ? invstd[c] : invstd[c] * weight[c]);
        if (gw != nullptr) gw[c] = product[c] * invstd[c];
        if (gb != nullptr) gb[c] = sum[c];
    }
    if (gx != nullptr) {
        if (!a.training) std::fill_n(mean, s.channels, T{0});
        for_runs(s, [&](int64_t first, int64_t last) {
            if (a.training)
                kernels.gradient(s, first, last, g, x, mean, shift, slope, scale, nullptr, gx);
            else
                kernels.normalize(s, first, last, g, mean, scale, shift, gx);
        });
    }
    return staging.finish();
}

template <class... Arguments>
diopiError_t batch_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    const BatchNorm a{arguments...};
    if (const diopiError_t error = check_batch_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.save_mean, a.save_invstd}, 0);
        return diopiSuccess;
    }
    return with_elements({x.dtype, view(a.out).dtype}, [&]<class E, class T>() { return forward<E, T>(ctx, a); });
}

template <class... Arguments>
diopiError_t batch_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    const BatchNormGradient a{arguments...};
    if (const diopiError_t error = check_batch_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.grad_weight, a.grad_bias}, 0);
        return diopiSuccess;
    }
    const Dtype result = a.grad_input == nullptr ? x.dtype : view(a.grad_input).dtype;
    return with_elements({x.dtype, view(a.grad_output).dtype, result},
                         [&]<class E, class T>() { return backward<E, T>(ctx, a); });
}

}  // namespace

#include "kernels/entries/norm.inc"

}  // namespace diopi::cpu
