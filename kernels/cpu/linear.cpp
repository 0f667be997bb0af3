/// The linear layer: oneDNN's matrix product in float32, half types widened to it, our own product in float64.
#include <algorithm>

#include "kernels/cpu/norm.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"

namespace diopi::cpu {

namespace {

/// Rows of input and out (leading dimensions flattened), elements of a row of input, and of out.
struct LinearShape {
    int64_t rows = 1, in = 0, out = 0;
};

diopiError_t read_shape(std::string_view op, const View& input, const View& weight, const View& out,
                        LinearShape& shape) {
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (input.rank() < 1) return wrong_shape(op, "input", input.shape, "(..., in)");
    if (weight.rank() != 2 || weight.shape[1] != input.shape.back()) {
        return wrong_shape(op, "weight", weight.shape, "(out, " + std::to_string(input.shape.back()) + ")");
    }
    shape.in = weight.shape[1], shape.out = weight.shape[0];
    Shape wanted(input.shape.begin(), input.shape.end());
    wanted.back() = shape.out;
    if (!std::ranges::equal(out.shape, wanted)) return wrong_shape(op, "out", out.shape, to_string(wanted));
    wanted.pop_back();
    shape.rows = numel(wanted);
    return diopiSuccess;
}

/// A bias of one number for each column; others, which broadcast to out, are added behind.
bool is_row(const View& bias, const LinearShape& shape) {
    return bias.numel == shape.out && bias.rank() >= 1 && bias.shape.back() == shape.out;
}

template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const LinearShape& s, const View& out, const View& input,
                     const View& weight, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const bool fused = bias != nullptr && is_row(view(bias), s);
    const auto* x = staging.in<T>(input);
    const auto* w = staging.in<T>(weight);
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
    const ProductShape size{s.rows, s.out, s.in};
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
diopiError_t backward(diopiContextHandle_t ctx, const LinearShape& s, Gradients grads, const View& grad_output,
                      const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_output);
    auto* gx = staging.out<T>(grads.input);
    auto* gw = staging.out<T>(grads.weight);
    auto* gb = staging.out<double>(grads.bias);
    const auto* w = gx == nullptr ? nullptr : staging.in<T>(weight);
    const auto* x = gw == nullptr ? nullptr : staging.in<T>(input);
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) {
        const diopiError_t error = product(ctx, {s.rows, s.in, s.out}, Matrices<T>{g}, Matrices<T>{w}, nullptr, gx);
        if (error != diopiSuccess) return error;
    }
    if (gw != nullptr) {
        const diopiError_t error =
            product(ctx, {s.out, s.in, s.rows}, Matrices<T>{g, true}, Matrices<T>{x}, nullptr, gw);
        if (error != diopiSuccess) return error;
    }
    if (gb != nullptr) channel_sums({s.rows, s.out, 1, Layout::channels_last}, g, gb);
    return staging.finish();
}

/// Sums a gradient of out down to a bias that broadcasts: only in the order of the elements, since it is rare.
diopiError_t broadcast_bias_gradient(diopiContextHandle_t ctx, const View& grad_bias, const View& grad_output) {
    if (grad_bias.rank() > grad_output.rank()) {
        return wrong_shape("diopiLinearBackward", "grad_bias", grad_bias.shape, "one that broadcasts to grad_output");
    }
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

}  // namespace

diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    constexpr std::string_view kOp = "diopiLinear";
    const View x = view(input), w = view(weight), y = view(out);
    LinearShape shape;
    if (const diopiError_t error = read_shape(kOp, x, w, y, shape); error != diopiSuccess) return error;
    if (bias != nullptr && !is_row(view(bias), shape)) {
        const auto broadcast = broadcast_shapes(view(bias).shape, y.shape);
        if (!broadcast || !std::ranges::equal(*broadcast, y.shape)) {
            return wrong_shape(kOp, "bias", view(bias).shape, to_string(Shape{shape.out}));
        }
    }
    if (y.numel == 0) return diopiSuccess;
    return (x.dtype == Dtype::float64 ? forward<double> : forward<float>)(ctx, shape, y, x, w, bias);
}

diopiError_t diopiLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight) {
    const View x = view(input), w = view(weight), g = view(grad_output);
    LinearShape shape;
    if (const auto error = read_shape("diopiLinearBackward", x, w, g, shape); error != diopiSuccess) return error;
    if (grad_bias != nullptr && (!is_row(view(grad_bias), shape) || g.numel == 0)) {
        const diopiError_t error = broadcast_bias_gradient(ctx, view(grad_bias), g);
        if (error != diopiSuccess) return error;
        grad_bias = nullptr;
    }
    if (x.numel == 0 || w.numel == 0 || g.numel == 0) {
        for (const diopiTensorHandle_t gradient : {grad_input, grad_weight}) {
            if (gradient == nullptr) continue;
            if (const diopiError_t error = fill(ctx, view(gradient), 0); error != diopiSuccess) return error;
        }
        grad_input = grad_weight = nullptr;
    }
    const auto run = x.dtype == Dtype::float64 ? backward<double> : backward<float>;
    return run(ctx, shape, {grad_input, grad_weight, grad_bias}, g, x, w);
}

}  // namespace diopi::cpu
