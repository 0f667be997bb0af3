/// Normalisation by the root mean square. The gradients of weight and bias are the sums of layer normalisation with a
/// mean of 0.
#include <algorithm>
#include <limits>

#include "kernels/cpu/attention_norm_rows.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/norm_layer.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_norm.hpp"

namespace diopi::cpu {

namespace {

/// The loops over elements of type E, which compute in T.
template <class E, class T>
const RmsNormKernels<E, T>& kernels_of() {
    return std::get<RmsNormKernels<E, T>>(rms_norm_table());
}

template <class E, class T>
diopiError_t forward(diopiContextHandle_t ctx, const RmsNorm& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* x = staging.in<E>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* given_bias = staging.in<T>(a.bias);
    auto* y = staging.out<E>(a.out);
    auto* inv_rms = staging.out<double>(a.inv_rms);
    auto* room = staging.buffer<T>(2 * n);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* weight = values_or(given_weight, room, n, T{1});
    const T* bias = values_or(given_bias, room + n, n, T{0});
    const auto& kernels = kernels_of<E, T>();
    parallel_for(a.rows.count, n, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            const double factor = kernels.normalise(x + r * n, weight, bias, y + r * n, n, a.eps);
            if (inv_rms != nullptr) inv_rms[r] = factor;
        }
    });
    return staging.finish();
}

template <class E, class T>
diopiError_t backward(diopiContextHandle_t ctx, const RmsNormGradient& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* g = staging.in<E>(a.grad_output);
    const auto* x = staging.in<E>(a.input);
    const auto* given_weight = staging.in<T>(a.weight);
    const auto* inv_rms = staging.in<double>(a.inv_rms);
    auto* gx = staging.out<E>(a.grad_input);
    auto* gw = staging.out<double>(a.grad_weight);
    auto* gb = staging.out<double>(a.grad_bias);
    auto* room = staging.buffer<T>(n);
    auto* mean = staging.buffer<double>(a.rows.count);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* weight = values_or(given_weight, room, n, T{1});
    const auto& kernels = kernels_of<E, T>();
    parallel_for(a.rows.count, n, [&](int64_t first, int64_t last) {
        for (int64_t r = first; r < last; ++r) {
            kernels.backward(g + r * n, x + r * n, weight, gx + r * n, n, inv_rms[r]);
        }
    });
    std::fill_n(mean, a.rows.count, 0.0);
    sum_columns<E, T>({g, x, mean, inv_rms}, a.rows, gw, gb);
    return staging.finish();
}

template <class E, class T>
diopiError_t add_and_normalise(diopiContextHandle_t ctx, const RmsNormInPlace& a) {
    const int64_t n = a.rows.size;
    Staging staging(ctx);
    const auto* x = staging.in<E>(a.inoutput);
    const auto* residual = staging.in<E>(a.residual);
    const auto* given_bias = staging.in<T>(a.bias);
    const auto* scale = staging.in<T>(a.scale);
    auto* y = staging.out<E>(a.inoutput);
    auto* total = staging.out<E>(a.residual);
    auto* room = staging.buffer<T>(n);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* bias = values_or(given_bias, room, n, T{0});
    const auto& kernels = kernels_of<E, T>();
    parallel_for(a.rows.count, n, [&](int64_t first, int64_t last) {
        for (int64_t at = first * n; at < last * n; at += n) {
            kernels.add_and_normalise(x + at, residual + at, bias, scale, y + at, total + at, n, a.eps);
        }
    });
    return staging.finish();
}

diopiError_t normalise(diopiContextHandle_t ctx, RmsNorm a) {
    if (const diopiError_t error = read_rms_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.inv_rms}, std::numeric_limits<double>::quiet_NaN());
        return diopiSuccess;
    }
    return with_elements({x.dtype, view(a.out).dtype}, [&]<class E, class T>() { return forward<E, T>(ctx, a); });
}

template <class... Arguments>
diopiError_t rms_norm(diopiContextHandle_t ctx, Arguments... arguments) {
    return normalise(ctx, RmsNorm{arguments...});
}

template <class... Arguments>
diopiError_t rms_norm_backward(diopiContextHandle_t ctx, Arguments... arguments) {
    RmsNormGradient a{arguments...};
    if (const diopiError_t error = read_rms_norm(a); error != diopiSuccess) return error;
    const View x = view(a.input);
    if (x.numel == 0) {
        fill({a.grad_weight, a.grad_bias}, 0);
        return diopiSuccess;
    }
    return with_elements({x.dtype, view(a.grad_output).dtype, view(a.grad_input).dtype},
                         [&]<class E, class T>() { return backward<E, T>(ctx, a); });
}

diopiError_t rms_norm_in_place(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput,
                               diopiConstTensorHandle_t scale, float eps) {
    RmsNormInPlace a{op, inoutput, nullptr, nullptr, scale, static_cast<double>(eps)};
    if (const diopiError_t error = read_rms_norm(a); error != diopiSuccess) return error;
    const diopiSize_t hidden{&a.rows.size, 1};
    return normalise(ctx, {op, inoutput, nullptr, inoutput, hidden, scale, nullptr, a.eps});
}

diopiError_t add_rms_norm_in_place(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput,
                                   diopiTensorHandle_t residual, diopiConstTensorHandle_t bias,
                                   diopiConstTensorHandle_t scale, float eps) {
    RmsNormInPlace a{op, inoutput, residual, bias, scale, static_cast<double>(eps)};
    const diopiError_t error = read_rms_norm(a);
    if (error != diopiSuccess || a.rows.numel() == 0) return error;
    return with_elements({view(inoutput).dtype, view(residual).dtype},
                         [&]<class E, class T>() { return add_and_normalise<E, T>(ctx, a); });
}

}  // namespace

#include "kernels/entries/attention_norm.inc"

}  // namespace diopi::cpu
