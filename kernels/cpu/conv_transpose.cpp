/// Transposed convolution, by the functions of the convolution whose input gradient it is: `problem.input` is the out,
/// and `problem.out` is the input. An output_padding of a stride or more leaves out places of that convolution, which
/// oneDNN cannot describe: then our own product computes it in float64.
#include "kernels/cpu/conv_transpose.hpp"

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/conv_bias.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/conv_parts.hpp"
#include "kernels/cpu/conv_plans.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// T is float or, without a bias, which would be added after a rounding, Bfloat16.
template <class T>
diopiError_t forward(diopiContextHandle_t ctx, ConvProblem p, const View& out, const View& input, const View& weight,
                     diopiConstTensorHandle_t bias) {
    p.type = kDataType<T>;
    Staging staging(ctx);
    const auto* x = staging.in<T>(input, p.out);
    const auto* w = staging.in<T>(weight, p.weight);
    const auto* b = staging.in<float>(bias);
    auto* y = staging.out<T>(out, p.input);
    if (staging.error() != diopiSuccess) return staging.error();
    const diopiError_t error = input_gradient(ctx, p, x, w, y);
    if (error != diopiSuccess) return error;
    if constexpr (std::is_same_v<T, float>) {
        if (b != nullptr) add_bias({p.shape.count, p.shape.channels, p.shape.area(), p.input}, b, y);
    }
    return staging.finish();
}

diopiError_t forward_float64(diopiContextHandle_t ctx, ConvProblem p, const View& out, const View& input,
                             const View& weight, diopiConstTensorHandle_t bias) {
    const ConvShape& s = p.shape;
    Staging staging(ctx);
    const auto* x = staging.in<double>(input);
    const auto* w = staging.in<double>(weight);
    const auto* b = staging.in<double>(bias);
    auto* y = staging.out<double>(out);
    auto* workspace = staging.buffer<double>(conv_workspace(s));
    if (staging.error() != diopiSuccess) return staging.error();
    conv_backward_input(s, x, w, y, workspace);
    if (b != nullptr) add_bias({s.count, s.channels, s.area(), Layout::plain}, b, y);
    return staging.finish();
}

template <class T>
diopiError_t backward(diopiContextHandle_t ctx, ConvProblem p, const ConvGradients& grads, const View& grad_out,
                      const View& input, const View& weight) {
    p.type = kDataType<T>;
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_out, p.input);
    if (grads.input != nullptr) {
        const auto* w = staging.in<T>(weight, p.weight);
        const Images grad_input(p.shape.sides, view(grads.input));
        auto* gx = staging.out<T>(grad_input.view(), p.out);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = convolve(ctx, p, {g, w, nullptr, gx});
        if (error != diopiSuccess) return error;
    }
    if (grads.weight != nullptr) {
        const auto* x = staging.in<T>(input, p.out);
        auto* gw = staging.out<float>(view(grads.weight), p.weight);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = weight_gradient(ctx, p, x, g, gw, staging);
        if (error != diopiSuccess) return error;
    }
    return staging.finish();
}

diopiError_t backward_float64(diopiContextHandle_t ctx, ConvProblem p, const ConvGradients& grads, const View& grad_out,
                              const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_out);
    auto* gx = staging.out<double>(grads.input);
    auto* gw = staging.out<double>(grads.weight);
    const auto* w = gx != nullptr ? staging.in<double>(weight) : nullptr;
    const auto* x = gw != nullptr ? staging.in<double>(input) : nullptr;
    auto* workspace = staging.buffer<double>(conv_workspace(p.shape));
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) conv_forward(p.shape, g, w, nullptr, gx, workspace);
    if (gw != nullptr) conv_backward_weight(p.shape, x, g, gw, workspace);
    return staging.finish();
}

bool needs_float64(const View& input, const ConvShape& shape) {
    return input.dtype == Dtype::float64 || shape.is_empty() || !shape.has_all_places();
}

}  // namespace

diopiError_t conv_transpose(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                            diopiSize_t output_padding, int64_t groups, diopiSize_t dilation) {
    ConvProblem problem;
    const View x = view(input), w = view(weight), y = view(out);
    const ConvArguments arguments{stride, padding, dilation, groups};
    diopiError_t error = read_transposed(op, sides, x, w, y, arguments, output_padding, problem.shape);
    if (error == diopiSuccess && bias != nullptr) error = check_bias(op, "bias", view(bias), problem.shape.channels);
    if (error != diopiSuccess || y.numel == 0) return error;
    const Images images(sides, x), outputs(sides, y);
    problem.out = layout_of(images.view()), problem.input = layout_of(outputs.view()), problem.weight = layout_of(w);
    auto* run = forward<float>;
    if (needs_float64(x, problem.shape)) {
        run = forward_float64;
    } else if (bias == nullptr && suit_bfloat16_units(x, w)) {
        run = forward<Bfloat16>;
    }
    return run(ctx, problem, outputs.view(), images.view(), w, bias);
}

diopiError_t conv_transpose_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                     diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                     diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                     diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                                     diopiSize_t output_padding, int64_t groups) {
    ConvProblem problem;
    const View x = view(input), w = view(weight), g = view(grad_output);
    const ConvArguments arguments{stride, padding, dilation, groups};
    diopiError_t error = read_transposed(op, sides, x, w, g, arguments, output_padding, problem.shape);
    if (error == diopiSuccess) error = check_gradients(op, grad_input, x, grad_weight, w);
    if (error == diopiSuccess && grad_bias != nullptr) {
        error = check_bias(op, "grad_bias", view(grad_bias), problem.shape.channels);
    }
    if (error != diopiSuccess) return error;
    const Images images(sides, x), outputs(sides, g);
    problem.out = layout_of(images.view()), problem.input = layout_of(outputs.view()), problem.weight = layout_of(w);
    if (grad_bias != nullptr) {
        error = bias_gradient(ctx, grad_bias, outputs.view());
        if (error != diopiSuccess) return error;
    }
    if (problem.shape.is_empty()) {
        fill({grad_input, grad_weight}, 0);
        return diopiSuccess;
    }
    const ConvGradients grads{grad_input, grad_weight};
    auto* run = backward<float>;
    if (needs_float64(x, problem.shape)) {
        run = backward_float64;
    } else if (gradients_suit_units(grads, g, x, w)) {
        run = backward<Bfloat16>;
    }
    return run(ctx, problem, grads, outputs.view(), images.view(), w);
}

#include "kernels/entries/conv_transpose.inc"

}  // namespace diopi::cpu
