/// Normalisation of groups of channels: the statistics of a row, a group of one sample, then one of its planes after
/// the other. A plane is a channel of one sample; the gradients are made of two sums for each.
#include <cmath>
#include <limits>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/norm_group.hpp"
#include "kernels/cpu/norm_layer_rows.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

namespace {

/// The planes of a row, as channels of one sample. Those of one element are the channels of a row that has them last.
ChannelShape planes_of(const GroupShape& s) {
    return {1, s.width, s.inner, s.inner == 1 ? Layout::channels_last : Layout::plain};
}

/// The statistics of a row, whose mean is written for each of its planes, too.
template <class E, class T>
RowStatistics row_statistics(const GroupShape& s, const E* x, double eps, T* mean) {
    const auto& kernels = std::get<ChannelKernels<E, T>>(channel_table());
    const ChannelShape row{1, 1, s.rows.size};
    double sum = 0, squares = 0;
    kernels.sums(row, 0, 1, x, &sum);
    const double exact = sum / static_cast<double>(s.rows.size);
    std::fill_n(mean, s.width, static_cast<T>(exact));
    kernels.squares(row, 0, 1, x, mean, &squares);
    return {exact, 1 / std::sqrt(squares / static_cast<double>(s.rows.size) + eps)};
}

template <class E, class T>
diopiError_t forward(diopiContextHandle_t ctx, const GroupNorm& a) {
    const GroupShape s = a.shape;
    const ChannelShape planes = planes_of(s);
    Staging staging(ctx);
    const auto* x = staging.in<E>(a.input);
    const auto* weight = staging.in<double>(a.weight);
    const auto* bias = staging.in<double>(a.bias);
    auto* y = staging.out<E>(a.out);
    auto* save_mean = staging.out<double>(a.save_mean);
    auto* save_invstd = staging.out<double>(a.save_invstd);
    auto* numbers = staging.buffer<T>(3 * s.samples * s.channels);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto& kernels = std::get<ChannelKernels<E, T>>(channel_table());
    parallel_for(s.rows.count, 4 * s.rows.size, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            const E* from = x + r * s.rows.size;
            T *mean = numbers + 3 * r * s.width, *scale = mean + s.width, *shift = scale + s.width;
            const auto [mean64, invstd] = row_statistics(s, from, a.eps, mean);
            for (int64_t p = 0; p < s.width; ++p) {
                const int64_t c = (r * s.width + p) % s.channels;
                const double factor = weight == nullptr ? invstd : invstd * weight[c];
                // The shift adds the part of the mean that its rounding removed.
                const double rest = (static_cast<double>(mean[p]) - mean64) * factor;
                scale[p] = static_cast<T>(factor);
                shift[p] = static_cast<T>((bias == nullptr ? 0 : bias[c]) + (std::isfinite(rest) ? rest : 0));
            }
            kernels.normalize(planes, 0, planes.runs(), from, mean, scale, shift, y + r * s.rows.size);
            if (save_mean != nullptr) save_mean[r] = mean64;
            if (save_invstd != nullptr) save_invstd[r] = invstd;
        }
    });
    return staging.finish();
}

/// The operands of a gradient, and the sums of g and of g * xhat over each plane.
template <class E>
struct Gradient {
    const E* g;
    const E* x;
    const double* weight;
    const double* mean;  ///< null: computed anew with eps
    const double* rstd;
    double eps;
    E* grad;
    double* sums;
    double* products;
};

/// The sums of row r, and grad = rstd * (h - average(h) - xhat * average(h * xhat)), h = g * weight. `numbers` has room
/// for five of each plane.
template <class E, class T>
void row_gradient(const GroupShape& s, const Gradient<E>& a, int64_t r, T* numbers) {
    const auto& kernels = std::get<ChannelKernels<E, T>>(channel_table());
    const ChannelShape planes = planes_of(s);
    const int64_t at = r * s.rows.size, plane = r * s.width;
    T *mean = numbers, *scale = mean + s.width, *shift = scale + s.width, *slope = shift + s.width;
    T* weight = slope + s.width;
    double *sums = a.sums + plane, *products = a.products + plane;
    RowStatistics known{};
    if (a.mean == nullptr) {
        known = row_statistics(s, a.x + at, a.eps, mean);
    } else {
        known = {a.mean[r], a.rstd[r]};
        std::fill_n(mean, s.width, static_cast<T>(known.mean));
    }
    kernels.gradient_sums(planes, 0, s.width, a.g + at, a.x + at, mean, sums, products);
    for (int64_t p = 0; p < s.width; ++p) products[p] *= known.invstd;
    if (a.grad == nullptr) return;
    double total = 0, total_product = 0;
    for (int64_t p = 0; p < s.width; ++p) {
        const double factor = a.weight == nullptr ? 1 : a.weight[(plane + p) % s.channels];
        total += factor * sums[p];
        total_product += factor * products[p];
        weight[p] = static_cast<T>(factor);
    }
    const auto count = static_cast<double>(s.rows.size);
    std::fill_n(scale, s.width, static_cast<T>(known.invstd));
    std::fill_n(shift, s.width, static_cast<T>(total / count));
    std::fill_n(slope, s.width, static_cast<T>(total_product / count * known.invstd));
    kernels.gradient(planes, 0, planes.runs(), a.g + at, a.x + at, mean, shift, slope, scale, weight, a.grad + at);
}

template <class E, class T>
diopiError_t backward(diopiContextHandle_t ctx, const GroupNormGradient& a) {
    const GroupShape s = a.shape;
    const int64_t planes = s.samples * s.channels;
    Staging staging(ctx);
    Gradient<E> operands{staging.in<E>(a.grad_output), staging.in<E>(a.input),         staging.in<double>(a.weight),
                         staging.in<double>(a.mean),   staging.in<double>(a.rstd),     a.eps,
                         staging.out<E>(a.grad_input), staging.buffer<double>(planes), staging.buffer<double>(planes)};
    auto* gw = staging.out<double>(a.grad_weight);
    auto* gb = staging.out<double>(a.grad_bias);
    auto* numbers = staging.buffer<T>(5 * planes);
    if (staging.error() != diopiSuccess) return staging.error();
    parallel_for(s.rows.count, 8 * s.rows.size, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) row_gradient(s, operands, r, numbers + 5 * r * s.width);
    });
    for (int64_t c = 0; c < s.channels; ++c) {
        double sum = 0, product = 0;
        for (int64_t plane = c; plane < planes; plane += s.channels) {
            sum += operands.sums[plane];
            product += operands.products[plane];
        }
        if (gb != nullptr) gb[c] = sum;
        if (gw != nullptr) gw[c] = product;
    }
    return staging.finish();
}

template <class... Arguments>
diopiError_t group_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNorm a{arguments...};
    const diopiError_t error = read_group_norm(a);
    return error != diopiSuccess ? error : normalise_groups(ctx, a);
}

template <class... Arguments>
diopiError_t group_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    GroupNormGradient a{arguments...};
    const diopiError_t error = read_group_norm(a);
    return error != diopiSuccess ? error : normalise_groups_backward(ctx, a);
}

}  // namespace

diopiError_t normalise_groups(diopiContextHandle_t ctx, const GroupNorm& a) {
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.save_mean, a.save_invstd}, std::numeric_limits<double>::quiet_NaN());
        return diopiSuccess;
    }
    return with_elements({x.dtype, view(a.out).dtype}, [&]<class E, class T>() { return forward<E, T>(ctx, a); });
}

diopiError_t normalise_groups_backward(diopiContextHandle_t ctx, const GroupNormGradient& a) {
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.grad_weight, a.grad_bias}, 0);
        return diopiSuccess;
    }
    const Dtype result = a.grad_input == nullptr ? x.dtype : view(a.grad_input).dtype;
    return with_elements({x.dtype, view(a.grad_output).dtype, result},
                         [&]<class E, class T>() { return backward<E, T>(ctx, a); });
}

#include "kernels/entries/norm_group.inc"

}  // namespace diopi::cpu
