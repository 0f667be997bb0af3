/// The parts of a batch normalisation that synchronises over devices.
#include <numeric>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/norm_statistics.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

namespace {

diopiError_t find_statistics(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t mean,
                             diopiTensorHandle_t invstd, diopiConstTensorHandle_t input, double eps) {
    const View x = view(input);
    const diopiError_t error = check_per_channel(op, x, {{mean, "mean"}, {invstd, "invstd"}});
    if (error != diopiSuccess) return error;
    return with_elements({x.dtype}, [&]<class E, class T>() {
        const ChannelShape s = channels_of(x, x);
        Staging staging(ctx);
        const auto* from = staging.in<E>(x, staged_layout(s, x));
        auto* means = staging.out<double>(mean);
        auto* spreads = staging.out<double>(invstd);
        auto* rounded = staging.buffer<T>(s.channels);
        if (staging.error() != diopiSuccess) return staging.error();
        statistics(s, from, means, rounded, spreads);
        for (int64_t c = 0; c < s.channels; ++c) spreads[c] = inverse_deviation(spreads[c], eps);
        return staging.finish();
    });
}

diopiError_t merge_statistics(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t mean,
                              diopiTensorHandle_t invstd, diopiConstTensorHandle_t, diopiConstTensorHandle_t mean_all,
                              diopiConstTensorHandle_t invstd_all, diopiTensorHandle_t running_mean,
                              diopiTensorHandle_t running_var, float momentum, float eps,
                              diopiConstTensorHandle_t counts) {
    const View all = view(mean_all);
    if (all.rank() != 2) return wrong_shape(op, "mean_all", all.shape, "(W, C)");
    diopiError_t error = check_per_channel(
        op, all, {{mean, "mean"}, {invstd, "invstd"}, {running_mean, "running_mean"}, {running_var, "running_var"}});
    if (error == diopiSuccess) error = check_shape(op, "invstd_all", view(invstd_all), all.shape);
    if (error == diopiSuccess) error = check_shape(op, "counts", view(counts), all.shape.first(1));
    if (error != diopiSuccess) return error;
    const int64_t workers = all.shape[0], channels = all.shape[1];
    Staging staging(ctx);
    const auto* means = staging.in<double>(all);
    const auto* spreads = staging.in<double>(invstd_all);
    const auto* n = staging.in<double>(counts);
    auto* merged = staging.out<double>(mean);
    auto* merged_invstd = staging.out<double>(invstd);
    auto* squares = staging.buffer<double>(channels);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto addend = static_cast<double>(eps);
    const double total = std::accumulate(n, n + workers, 0.0);
    std::fill_n(merged, channels, 0.0);
    std::fill_n(squares, channels, 0.0);
    for (int64_t w = 0; w < workers; ++w) {
        for (int64_t c = 0; c < channels; ++c) merged[c] += means[w * channels + c] * n[w];
    }
    for (int64_t c = 0; c < channels; ++c) merged[c] /= total;
    for (int64_t w = 0; w < workers; ++w) {
        for (int64_t c = 0; c < channels; ++c) {
            const double deviation = 1 / spreads[w * channels + c], distance = means[w * channels + c] - merged[c];
            squares[c] += (deviation * deviation - addend + distance * distance) * n[w];
        }
    }
    for (int64_t c = 0; c < channels; ++c) merged_invstd[c] = inverse_deviation(squares[c] / total, addend);
    error = update_running(ctx, running_mean, merged, 1, static_cast<double>(momentum));
    if (error == diopiSuccess)
        error = update_running(ctx, running_var, squares, 1 / (total - 1), static_cast<double>(momentum));
    return error != diopiSuccess ? error : staging.finish();
}

/// eps is part of invstd.
diopiError_t normalise_channels(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
                                diopiConstTensorHandle_t invstd, float) {
    const View x = view(input), y = view(out);
    diopiError_t error =
        check_per_channel(op, x, {{weight, "weight"}, {bias, "bias"}, {mean, "mean"}, {invstd, "invstd"}});
    if (error == diopiSuccess) error = check_shape(op, "out", y, x.shape);
    if (error != diopiSuccess || x.numel == 0) return error;
    return with_elements({x.dtype, y.dtype}, [&]<class E, class T>() {
        const ChannelShape s = channels_of(x, y);
        Staging staging(ctx);
        const auto* from = staging.in<E>(x, staged_layout(s, x));
        const auto* means = staging.in<T>(mean);
        const auto* spreads = staging.in<double>(invstd);
        const auto* weights = staging.in<double>(weight);
        const auto* given_shift = staging.in<T>(bias);
        auto* scale = staging.buffer<T>(2 * s.channels);
        auto* to = staging.out<E>(y, staged_layout(s, x));
        if (staging.error() != diopiSuccess) return staging.error();
        for (int64_t c = 0; c < s.channels; ++c) {
            scale[c] = static_cast<T>(weights == nullptr ? spreads[c] : spreads[c] * weights[c]);
        }
        std::fill_n(scale + s.channels, s.channels, T{0});
        const T* shift = given_shift == nullptr ? scale + s.channels : given_shift;
        for_runs(s, [&](int64_t first, int64_t last) {
            channel_kernels<E, T>().normalize(s, first, last, from, means, scale, shift, to);
        });
        return staging.finish();
    });
}

diopiError_t sum_gradients(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t sum_dy,
                           diopiTensorHandle_t sum_dy_xmu, diopiTensorHandle_t grad_weight,
                           diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_out,
                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t mean,
                           diopiConstTensorHandle_t invstd, diopiConstTensorHandle_t weight, bool input_g,
                           bool weight_g, bool bias_g) {
    if (!input_g) sum_dy = sum_dy_xmu = nullptr;
    if (!weight_g) grad_weight = nullptr;
    if (!bias_g) grad_bias = nullptr;
    const View x = view(input), g = view(grad_out);
    diopiError_t error = check_per_channel(op, x,
                                           {{mean, "mean"},
                                            {invstd, "invstd"},
                                            {weight, "weight"},
                                            {sum_dy, "sum_dy"},
                                            {sum_dy_xmu, "sum_dy_xmu"},
                                            {grad_weight, "grad_weight"},
                                            {grad_bias, "grad_bias"}});
    if (error == diopiSuccess) error = check_shape(op, "grad_out", g, x.shape);
    if (error != diopiSuccess) return error;
    return with_elements({x.dtype, g.dtype}, [&]<class E, class T>() {
        const ChannelShape s = channels_of(x, g);
        Staging staging(ctx);
        const auto* from = staging.in<E>(x, staged_layout(s, x));
        const auto* grad = staging.in<E>(g, staged_layout(s, x));
        const auto* means = staging.in<T>(mean);
        const auto* spreads = staging.in<double>(invstd);
        auto* sums = staging.buffer<double>(2 * s.channels);
        if (staging.error() != diopiSuccess) return staging.error();
        double* products = sums + s.channels;
        for_channels(s, [&](int64_t first, int64_t last) {
            channel_kernels<E, T>().gradient_sums(s, first, last, grad, from, means, sums, products);
        });
        const auto write = [&](diopiTensorHandle_t tensor, const double* values) {
            if (auto* to = staging.out<double>(tensor); to != nullptr) std::copy_n(values, s.channels, to);
        };
        write(sum_dy, sums);
        write(grad_bias, sums);
        write(sum_dy_xmu, products);
        for (int64_t c = 0; c < s.channels; ++c) products[c] *= spreads[c];
        write(grad_weight, products);
        return staging.error() != diopiSuccess ? staging.error() : staging.finish();
    });
}

diopiError_t map_gradients(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t mean, diopiConstTensorHandle_t invstd,
                           diopiConstTensorHandle_t weight, diopiConstTensorHandle_t sum_dy,
                           diopiConstTensorHandle_t sum_dy_xmu, diopiConstTensorHandle_t count) {
    const View x = view(input), g = view(grad_out), gx = view(grad_input);
    diopiError_t error = check_per_channel(
        op, x,
        {{mean, "mean"}, {invstd, "invstd"}, {weight, "weight"}, {sum_dy, "sum_dy"}, {sum_dy_xmu, "sum_dy_xmu"}});
    if (error == diopiSuccess) error = check_shape(op, "grad_out", g, x.shape);
    if (error == diopiSuccess) error = check_shape(op, "grad_input", gx, x.shape);
    if (error != diopiSuccess || x.numel == 0) return error;
    return with_elements({x.dtype, g.dtype, gx.dtype}, [&]<class E, class T>() {
        const ChannelShape s = channels_of(x, g);
        Staging staging(ctx);
        const auto* from = staging.in<E>(x, staged_layout(s, x));
        const auto* grad = staging.in<E>(g, staged_layout(s, x));
        const auto* means = staging.in<T>(mean);
        const auto* spreads = staging.in<double>(invstd);
        const auto* weights = staging.in<double>(weight);
        const auto* sums = staging.in<double>(sum_dy);
        const auto* products = staging.in<double>(sum_dy_xmu);
        const auto* counts = staging.in<double>(count);
        auto* to = staging.out<E>(gx, staged_layout(s, x));
        auto* shift = staging.buffer<T>(3 * s.channels);
        if (staging.error() != diopiSuccess) return staging.error();
        T *slope = shift + s.channels, *scale = slope + s.channels;
        double n = 0;
        for (int64_t i = 0; i < view(count).numel; ++i) n += counts[i];
        for (int64_t c = 0; c < s.channels; ++c) {
            shift[c] = static_cast<T>(sums[c] / n);
            slope[c] = static_cast<T>(products[c] / n * spreads[c] * spreads[c]);
            scale[c] = static_cast<T>(weights == nullptr ? spreads[c] : spreads[c] * weights[c]);
        }
        for_runs(s, [&](int64_t first, int64_t last) {
            channel_kernels<E, T>().gradient(s, first, last, grad, from, means, shift, slope, scale, nullptr, to);
        });
        return staging.finish();
    });
}

}  // namespace

#include "kernels/entries/norm_parts.inc"

}  // namespace diopi::cpu
