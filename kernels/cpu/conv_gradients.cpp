#include "kernels/cpu/conv_gradients.hpp"

#include <algorithm>
#include <functional>

#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/conv_bias.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/conv_parts.hpp"
#include "kernels/cpu/conv_plans.hpp"
#include "kernels/cpu/conv_tiled.hpp"
#include "kernels/cpu/onednn_api.hpp"
#include "kernels/cpu/view.hpp"

namespace diopi::cpu {

namespace {

/// Whether they are gradients of windows side by side.
bool are_tiled(const ConvProblem& p, bool is_transposed) {
    return is_transposed && is_tiled(p.shape) && p.input == Layout::plain && p.out == Layout::plain;
}

/// T is float or Bfloat16.
template <class T>
diopiError_t run(diopiContextHandle_t ctx, ConvProblem p, bool is_transposed, const ConvGradients& grads,
                 const View& grad_out, const View& input, const View& weight) {
    if (are_tiled(p, is_transposed))
        return tiled_gradients<T>(ctx, p.shape, grads.input, grads.weight, grad_out, input, weight);
    p.type = kDataType<T>;
    const Layout of_grad = is_transposed ? p.input : p.out, of_input = is_transposed ? p.out : p.input;
    Staging staging(ctx);
    const auto* g = staging.in<T>(grad_out, of_grad);
    if (grads.input != nullptr) {
        const auto* w = staging.in<T>(weight, p.weight);
        const Images grad_input(p.shape.sides, view(grads.input));
        auto* gx = staging.out<T>(grad_input.view(), of_input);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error =
            is_transposed ? convolution_result(ctx, p, {g, w, nullptr, gx}) : input_gradient(ctx, p, g, w, gx);
        if (error != diopiSuccess) return error;
    }
    if (grads.weight != nullptr) {
        const auto* x = staging.in<T>(input, of_input);
        auto* gw = staging.out<float>(view(grads.weight), p.weight);
        if (staging.error() != diopiSuccess) return staging.error();
        const auto *results = is_transposed ? x : g, *images = is_transposed ? g : x;
        const diopiError_t error = weight_gradient(ctx, p, results, images, gw, staging);
        if (error != diopiSuccess) return error;
    }
    return staging.finish();
}

diopiError_t run_float64(diopiContextHandle_t ctx, ConvProblem p, bool is_transposed, const ConvGradients& grads,
                         const View& grad_out, const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_out);
    auto* gx = staging.out<double>(grads.input);
    auto* gw = staging.out<double>(grads.weight);
    const auto* w = gx != nullptr ? staging.in<double>(weight) : nullptr;
    const auto* x = gw != nullptr ? staging.in<double>(input) : nullptr;
    auto* workspace = staging.buffer<double>(conv_workspace(p.shape));
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr && is_transposed) conv_forward(p.shape, g, w, nullptr, gx, workspace);
    if (gx != nullptr && !is_transposed) conv_backward_input(p.shape, g, w, gx, workspace);
    if (gw != nullptr) conv_backward_weight(p.shape, is_transposed ? x : g, is_transposed ? g : x, gw, workspace);
    return staging.finish();
}

/// Whether the gradient of the weight is right in bfloat16. oneDNN 2.6.3 leaves out taps beside the image where a
/// window's step is longer than a side, as of (2, 64, 32, 2) by (48, 64, 4, 2) with a step of 3. On three sides without
/// AMX it is wrong, or writes behind its memory, for some steps of more than one element, and for some windows that are
/// longer than a side: (3, 17, 2, 1, 5) by (17, 17, 3, 5, 1). Of 4,280 drawn gradients without either none was wrong.
bool weight_gradient_suits_units(const ConvShape& s) {
    const Window& w = s.window;
    if (s.sides < kMostSides) return std::ranges::equal(w.stride, s.in, std::less_equal<>());
    if (onednn::has_amx() && suits_amx(s, true)) return true;
    for (size_t side = 0; side < kMostSides; ++side) {
        if (w.stride[side] > 1 || w.extent(side) > s.in[side]) return false;
    }
    return s.groups == 1;
}

}  // namespace

diopiError_t conv_gradients(diopiContextHandle_t ctx, const ConvShape& shape, bool is_transposed,
                            const ConvGradients& grads, const View& grad_out, const View& input, const View& weight) {
    const Images images(shape.sides, input), outputs(shape.sides, grad_out);
    const Layout of_input = layout_of(images.view()), of_grad = layout_of(outputs.view());
    ConvProblem problem;
    problem.shape = shape;
    problem.input = is_transposed ? of_grad : of_input;
    problem.out = is_transposed ? of_input : of_grad;
    problem.weight = layout_of(weight);
    if (grads.bias != nullptr) {
        const diopiError_t error = bias_gradient(ctx, grads.bias, outputs.view());
        if (error != diopiSuccess) return error;
    }
    if (shape.is_empty()) {
        fill({grads.input, grads.weight}, 0);
        return diopiSuccess;
    }
    const auto compute_in = [&](auto* run_in, const ConvGradients& wanted) {
        return run_in(ctx, problem, is_transposed, wanted, outputs.view(), images.view(), weight);
    };
    if (input.dtype == Dtype::float64 || !shape.has_all_places()) return compute_in(run_float64, grads);
    ConvGradients on_units, widened;
    const bool input_suits = grads.input != nullptr && suit_bfloat16_units(grad_out, weight);
    const bool has_right_kernel = are_tiled(problem, is_transposed) || weight_gradient_suits_units(shape);
    const bool weight_suits = grads.weight != nullptr && has_right_kernel && suit_bfloat16_units(grad_out, input);
    (input_suits ? on_units : widened).input = grads.input;
    (weight_suits ? on_units : widened).weight = grads.weight;
    const diopiError_t error = on_units.has_products() ? compute_in(run<Bfloat16>, on_units) : diopiSuccess;
    return error == diopiSuccess && widened.has_products() ? compute_in(run<float>, widened) : error;
}

}  // namespace diopi::cpu
