/// Transposed convolution, by the functions of the convolution whose input gradient it is: `problem.input` is the out,
/// and `problem.out` is the input. An output_padding of a stride or more leaves out places of that convolution, which
/// oneDNN cannot describe: then our own product computes it in float64. Windows side by side have kernels of their own.
#include "kernels/cpu/conv_transpose.hpp"

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/conv_bias.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/conv_gradients.hpp"
#include "kernels/cpu/conv_parts.hpp"
#include "kernels/cpu/conv_plans.hpp"
#include "kernels/cpu/conv_tiled.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// T is float or, without a bias, which would be added after a rounding, Bfloat16.
template <class T>
diopiError_t forward(diopiContextHandle_t ctx, const ConvProblem& problem, const View& out, const View& input,
                     const View& weight, diopiConstTensorHandle_t bias) {
    ConvProblem p = problem;
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

diopiError_t forward_float64(diopiContextHandle_t ctx, const ConvProblem& p, const View& out, const View& input,
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
    if (x.dtype == Dtype::float64 || problem.shape.is_empty() || !problem.shape.has_all_places()) {
        run = forward_float64;
    } else if ((bias == nullptr || is_tiled(problem.shape)) && suit_bfloat16_units(x, w)) {
        run = is_tiled(problem.shape) ? tiled_forward : forward<Bfloat16>;
    }
    return run(ctx, problem, outputs.view(), images.view(), w, bias);
}

diopiError_t conv_transpose_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                     diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                     diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                     diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                                     diopiSize_t output_padding, int64_t groups) {
    ConvShape shape;
    const View x = view(input), w = view(weight), g = view(grad_output);
    const ConvArguments arguments{stride, padding, dilation, groups};
    diopiError_t error = read_transposed(op, sides, x, w, g, arguments, output_padding, shape);
    if (error == diopiSuccess) error = check_gradients(op, grad_input, x, grad_weight, w);
    if (error == diopiSuccess && grad_bias != nullptr) {
        error = check_bias(op, "grad_bias", view(grad_bias), shape.channels);
    }
    if (error != diopiSuccess) return error;
    return conv_gradients(ctx, shape, true, {grad_input, grad_weight, grad_bias}, g, x, w);
}

#include "kernels/entries/conv_transpose.inc"

}  // namespace diopi::cpu
