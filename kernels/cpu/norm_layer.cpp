/// Normalisation of rows. The gradients of weight and bias are sums over the rows, formed for blocks of columns.
#include <limits>

#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/norm_layer.hpp"
#include "kernels/cpu/norm_layer_rows.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/norm.hpp"

namespace diopi::cpu {

namespace {

template <class E, class T>
diopiError_t forward(diopiContextHandle_t ctx, const LayerNorm& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* x = staging.in<E>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* given_bias = staging.in<T>(a.bias);
    auto* y = staging.out<E>(a.out);
    auto* mean = staging.out<double>(a.save_mean);
    auto* invstd = staging.out<double>(a.save_invstd);
    auto* room = staging.buffer<T>(2 * n);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* weight = values_or(given_weight, room, n, T{1});
    const T* bias = values_or(given_bias, room + n, n, T{0});
    const auto& kernels = layer_norm_kernels<E, T>();
    parallel_for(a.rows.count, 4 * n, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            const RowStatistics row = kernels.forward(x + r * n, weight, bias, y + r * n, n, a.eps);
            if (mean != nullptr) mean[r] = row.mean;
            if (invstd != nullptr) invstd[r] = row.invstd;
        }
    });
    return staging.finish();
}

template <class E, class T>
diopiError_t backward(diopiContextHandle_t ctx, const LayerNormGradient& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* g = staging.in<E>(a.grad_output);
    const auto* x = staging.in<E>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* mean = staging.in<double>(a.mean);
    const auto* rstd = staging.in<double>(a.rstd);
    auto* gx = staging.out<E>(a.grad_input);
    auto* gw = staging.out<double>(a.grad_weight);
    auto* gb = staging.out<double>(a.grad_bias);
    auto* room = staging.buffer<T>(n);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto& kernels = layer_norm_kernels<E, T>();
    if (gx != nullptr) {
        const T* weight = values_or(given_weight, room, n, T{1});
        parallel_for(a.rows.count, 4 * n, [&](int64_t first, int64_t last) {
            for (int64_t r = first; r < last; ++r) {
                kernels.backward(g + r * n, x + r * n, weight, gx + r * n, n, {mean[r], rstd[r]});
            }
        });
    }
    sum_columns<E, T>({g, x, mean, rstd}, a.rows, gw, gb);
    return staging.finish();
}

template <class... Arguments>
diopiError_t layer_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    return normalise_layer(ctx, LayerNorm{arguments...});
}

template <class... Arguments>
diopiError_t layer_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    return normalise_layer_backward(ctx, LayerNormGradient{arguments...});
}

}  // namespace

diopiError_t normalise_layer(diopiContextHandle_t ctx, LayerNorm a) {
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.save_mean, a.save_invstd}, std::numeric_limits<double>::quiet_NaN());
        return diopiSuccess;
    }
    return with_elements({x.dtype, view(a.out).dtype}, [&]<class E, class T>() { return forward<E, T>(ctx, a); });
}

diopiError_t normalise_layer_backward(diopiContextHandle_t ctx, LayerNormGradient a) {
    if (const diopiError_t error = read_layer_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.grad_weight, a.grad_bias}, 0);
        return diopiSuccess;
    }
    const Dtype result = a.grad_input == nullptr ? x.dtype : view(a.grad_input).dtype;
    return with_elements({x.dtype, view(a.grad_output).dtype, result},
                         [&]<class E, class T>() { return backward<E, T>(ctx, a); });
}

#include "kernels/entries/norm_layer.inc"

}  // namespace diopi::cpu
