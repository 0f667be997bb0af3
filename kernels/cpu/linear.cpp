/// The linear layer: oneDNN's matrix product in float32, half types widened to it, bfloat16 on the machine's units
/// where these suit the values, our own product in float64.
#include <algorithm>

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/linear.hpp"

namespace diopi::cpu {

namespace {

/// `bias` is null or one number for each column.
template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const Linear& s, const View& out, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const auto* x = staging.in<T>(s.input);
    const auto* w = staging.in<T>(s.weight);
    const auto* b = staging.in<T>(bias);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    const ProductShape size{s.rows(), s.out(), s.in()};
    const diopiError_t error = product(ctx, size, Matrices<T>{x}, Matrices<T>{w, true}, b, y);
    return error == diopiSuccess ? staging.finish() : error;
}

/// The same with a bias that broadcasts to out.
template <class T>
diopiError_t forward_broadcast(diopiContextHandle_t ctx, const Linear& s, const View& out, const View& bias) {
    Staging staging(ctx);
    const auto strides = broadcast_strides(bias, out.shape);
    View spread = bias;
    spread.shape = out.shape;
    spread.strides = {strides.data(), out.shape.size()};
    spread.numel = out.numel;
    const auto* x = staging.in<T>(s.input);
    const auto* w = staging.in<T>(s.weight);
    const auto* added = staging.in<T>(spread);
    auto* y = staging.out<T>(out);
    if (staging.error() != diopiSuccess) return staging.error();
    const ProductShape size{s.rows(), s.out(), s.in()};
    const T* no_bias = nullptr;
    const diopiError_t error = product(ctx, size, Matrices<T>{x}, Matrices<T>{w, true}, no_bias, y);
    if (error != diopiSuccess) return error;
    for (int64_t i = 0; i < out.numel; ++i) y[i] += added[i];
    return staging.finish();
}

bool computes_in_bfloat16(const Linear& s, const View& out, diopiConstTensorHandle_t bias) {
    if (out.dtype != Dtype::bfloat16) return false;
    return bias == nullptr ? takes_bfloat16(s.rows(), s.input, s.weight)
                           : takes_bfloat16(s.rows(), s.input, s.weight, {view(bias)});
}

struct Gradients {
    diopiTensorHandle_t input, weight, bias;
};

/// The gradient of out, in the type that its sums are computed from.
template <class T>
auto for_sums(Staging& staging, const View& grad_output, const T* loaded) {
    if constexpr (std::is_same_v<T, Bfloat16>) {
        return staging.in<float>(grad_output);
    } else {
        return loaded;
    }
}

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const Linear& s, Gradients grads, const View& grad_output) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    auto* gx = staging.out<T>(grads.input);
    auto* gw = staging.out<T>(grads.weight);
    auto* gb = staging.out<double>(grads.bias);
    const auto* w = gx == nullptr ? nullptr : staging.in<T>(s.weight);
    const auto* x = gw == nullptr ? nullptr : staging.in<T>(s.input);
    const auto* terms = gb == nullptr ? nullptr : for_sums(staging, grad_output, g);
    if (staging.error() != diopiSuccess) return staging.error();
    const T* no_bias = nullptr;
    if (gx != nullptr) {
        const diopiError_t error =
            product(ctx, {s.rows(), s.in(), s.out()}, Matrices<T>{g}, Matrices<T>{w}, no_bias, gx);
        if (error != diopiSuccess) return error;
    }
    if (gw != nullptr) {
        const diopiError_t error =
            product(ctx, {s.out(), s.in(), s.rows()}, Matrices<T>{g, true}, Matrices<T>{x}, no_bias, gw);
        if (error != diopiSuccess) return error;
    }
    if (gb != nullptr) channel_sums({s.rows(), s.out(), 1, Layout::channels_last}, terms, gb);
    return staging.finish();
}

bool gradients_suit_units(const Linear& s, const Gradients& grads, const View& grad_output) {
    return (grads.input == nullptr || suit_bfloat16_units(grad_output, s.weight)) &&
           (grads.weight == nullptr || suit_bfloat16_units(grad_output, s.input)) &&
           (grads.input != nullptr || grads.weight != nullptr);
}

/// Sums a gradient of out down to a bias that broadcasts, element by element: such a bias is rare.
diopiError_t broadcast_bias_gradient(diopiContextHandle_t ctx, const View& grad_bias, const View& grad_output) {
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_output);
    auto* sums = staging.out<double>(grad_bias);
    if (staging.error() != diopiSuccess) return staging.error();
    std::fill_n(sums, grad_bias.numel, 0.0);
    const Shape dense = contiguous_strides(grad_bias.shape);
    View target = grad_bias;
    target.strides = dense;
    const auto to = broadcast_strides(target, grad_output.shape);
    const Shape from = contiguous_strides(grad_output.shape);
    const Nest nest = make_nest(grad_output.shape, {from.data(), to.data()});
    for_each_outer(nest, 0, [&](const auto& offsets) { sums[offsets[1]] += g[offsets[0]]; });
    return staging.finish();
}

diopiError_t linear(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    const View y = view(out);
    Linear x;
    const diopiError_t error = read_linear(op, y, view(input), view(weight), bias, x);
    if (error != diopiSuccess || y.numel == 0) return error;
    const bool wide = x.input.dtype == Dtype::float64;
    if (bias != nullptr && !x.is_row(view(bias))) {
        return (wide ? forward_broadcast<double> : forward_broadcast<float>)(ctx, x, y, view(bias));
    }
    if (computes_in_bfloat16(x, y, bias)) return forward<Bfloat16>(ctx, x, y, bias);
    return (wide ? forward<double> : forward<float>)(ctx, x, y, bias);
}

diopiError_t linear_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t weight) {
    const View g = view(grad_output);
    Linear x;
    diopiError_t error = read_linear_gradient(op, g, view(input), view(weight), grad_input, grad_weight, grad_bias, x);
    if (error != diopiSuccess) return error;
    if (grad_bias != nullptr && (!x.is_row(view(grad_bias)) || g.numel == 0)) {
        error = broadcast_bias_gradient(ctx, view(grad_bias), g);
        if (error != diopiSuccess) return error;
        grad_bias = nullptr;
    }
    if (x.input.numel == 0 || x.weight.numel == 0 || g.numel == 0) {
        fill({grad_input, grad_weight}, 0);
        grad_input = grad_weight = nullptr;
    }
    const Gradients grads{grad_input, grad_weight, grad_bias};
    if (gradients_suit_units(x, grads, g)) return backward<Bfloat16>(ctx, x, grads, g);
    return (x.input.dtype == Dtype::float64 ? backward<double> : backward<float>)(ctx, x, grads, g);
}

}  // namespace

#include "kernels/entries/linear.inc"

}  // namespace diopi::cpu
