/// The linear layer: oneDNN's matrix product in float32, half types widened to it, our own product in float64.
#include <algorithm>

#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/linear.hpp"

namespace diopi::cpu {

namespace {

template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const Linear& s, const View& out, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const bool fused = bias != nullptr && s.is_row(view(bias));
    const auto* x = staging.in<T>(s.input);
    const auto* w = staging.in<T>(s.weight);
    const auto* b = fused ? staging.in<T>(bias) : nullptr;
    auto* y = staging.out<T>(out);
    const T* added = nullptr;
    if (bias != nullptr && !fused) {
        const View given = view(bias);
        const auto strides = broadcast_strides(given, out.shape);
        View spread = given;
        spread.shape = out.shape;
        spread.strides = {strides.data(), out.shape.size()};
        spread.numel = out.numel;
        added = staging.in<T>(spread);
    }
    if (staging.error() != diopiSuccess) return staging.error();
    const ProductShape size{s.rows(), s.out(), s.in()};
    const diopiError_t error = product(ctx, size, Matrices<T>{x}, Matrices<T>{w, true}, b, y);
    if (error != diopiSuccess) return error;
    if (added != nullptr) {
        for (int64_t i = 0; i < out.numel; ++i) y[i] += added[i];
    }
    return staging.finish();
}

struct Gradients {
    diopiTensorHandle_t input, weight, bias;
};

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, const Linear& s, Gradients grads, const View& grad_output) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    auto* gx = staging.out<T>(grads.input);
    auto* gw = staging.out<T>(grads.weight);
    auto* gb = staging.out<double>(grads.bias);
    const auto* w = gx == nullptr ? nullptr : staging.in<T>(s.weight);
    const auto* x = gw == nullptr ? nullptr : staging.in<T>(s.input);
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) {
        const diopiError_t error =
            product(ctx, {s.rows(), s.in(), s.out()}, Matrices<T>{g}, Matrices<T>{w}, nullptr, gx);
        if (error != diopiSuccess) return error;
    }
    if (gw != nullptr) {
        const diopiError_t error =
            product(ctx, {s.out(), s.in(), s.rows()}, Matrices<T>{g, true}, Matrices<T>{x}, nullptr, gw);
        if (error != diopiSuccess) return error;
    }
    if (gb != nullptr) channel_sums({s.rows(), s.out(), 1, Layout::channels_last}, g, gb);
    return staging.finish();
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
    return (x.input.dtype == Dtype::float64 ? forward<double> : forward<float>)(ctx, x, y, bias);
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
    const auto run = x.input.dtype == Dtype::float64 ? backward<double> : backward<float>;
    return run(ctx, x, {grad_input, grad_weight, grad_bias}, g);
}

}  // namespace

#include "kernels/entries/linear.inc"

}  // namespace diopi::cpu
