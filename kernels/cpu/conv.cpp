/// Convolution: oneDNN in float32, half types widened to it, bfloat16 on the machine's units where these suit the
/// values, our own product in float64.
#include "kernels/cpu/conv.hpp"

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/conv_gradients.hpp"
#include "kernels/cpu/conv_parts.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// T is float or Bfloat16.
template <class T>
diopiError_t forward(diopiContextHandle_t ctx, ConvProblem p, const View& out, const View& input, const View& weight,
                     diopiConstTensorHandle_t bias) {
    p.type = kDataType<T>;
    Staging staging(ctx);
    const auto* x = staging.in<T>(input, p.input);
    const auto* w = staging.in<T>(weight, p.weight);
    const auto* b = staging.in<T>(bias);
    auto* y = staging.out<T>(out, p.out);
    if (staging.error() != diopiSuccess) return staging.error();
    const diopiError_t error = convolution_result(ctx, p, {x, w, b, y});
    return error == diopiSuccess ? staging.finish() : error;
}

diopiError_t forward_float64(diopiContextHandle_t ctx, ConvProblem p, const View& out, const View& input,
                             const View& weight, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const auto* x = staging.in<double>(input);
    const auto* w = staging.in<double>(weight);
    const auto* b = staging.in<double>(bias);
    auto* y = staging.out<double>(out);
    auto* workspace = staging.buffer<double>(conv_workspace(p.shape));
    if (staging.error() != diopiSuccess) return staging.error();
    conv_forward(p.shape, x, w, b, y, workspace);
    return staging.finish();
}

}  // namespace

diopiError_t convolution(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                         diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    ConvProblem problem;
    const View x = view(input), w = view(weight), y = view(out);
    diopiError_t error = read_convolution(op, sides, x, w, y, {stride, padding, dilation, groups}, problem.shape);
    if (error == diopiSuccess && bias != nullptr)
        error = check_bias(op, "bias", view(bias), problem.shape.out_channels);
    if (error != diopiSuccess || y.numel == 0) return error;
    const Images images(sides, x), outputs(sides, y);
    problem.input = layout_of(images.view()), problem.out = layout_of(outputs.view()), problem.weight = layout_of(w);
    problem.has_bias = bias != nullptr;
    auto* run = forward<float>;
    if (x.dtype == Dtype::float64 || problem.shape.is_empty()) {
        run = forward_float64;
    } else if (bias == nullptr ? suit_bfloat16_units(x, w) : suit_bfloat16_units(x, w, {view(bias)})) {
        run = forward<Bfloat16>;
    }
    return run(ctx, problem, outputs.view(), images.view(), w, bias);
}

diopiError_t convolution_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                  diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                  diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                  diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    ConvShape shape;
    const View x = view(input), w = view(weight), g = view(grad_output);
    diopiError_t error = read_convolution(op, sides, x, w, g, {stride, padding, dilation, groups}, shape);
    if (error == diopiSuccess) error = check_gradients(op, grad_input, x, grad_weight, w);
    if (error != diopiSuccess) return error;
    return conv_gradients(ctx, shape, false, {grad_input, grad_weight, grad_bias}, g, x, w);
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::cpu
