/// Transposed convolution, by the functions of the convolution whose input gradient it is: `problem.input` is the out,
/// and `problem.out` is the input. An output_padding of a stride or more leaves out places of that convolution, which
/// oneDNN cannot describe: then our own product computes it in float64. Windows of bfloat16 side by side are a product.
#include "kernels/cpu/conv_transpose.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/half.hpp"
#include "core/instruction_sets.hpp"
#include "kernels/cpu/bfloat16_units.hpp"
#include "kernels/cpu/conv_bias.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/conv_gradients.hpp"
#include "kernels/cpu/conv_parts.hpp"
#include "kernels/cpu/conv_plans.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/cpu/threads.hpp"
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

/// Whether each place of the out is under one tap of one window, so that the taps are rows of a product.
bool is_tiled(const ConvShape& s) {
    const Window& w = s.window;
    for (size_t side = 0; side < kMostSides; ++side) {
        const int64_t size = w.kernel[side];
        const bool has_gaps = size > 1 && w.dilation[side] > 1;
        if (has_gaps || w.stride[side] != size || w.padding[side] != 0 || s.in[side] != s.out[side] * size)
            return false;
    }
    return s.groups == 1 && w.taps() > 1;
}

constexpr int64_t kWoven = 4096;  ///< elements of lines that are woven together, in the first-level cache

/// to = bias + `taps` rows of n sums, whose elements take turns; the rows are `pitch` elements apart.
void weave(const float* sums, int64_t pitch, int64_t taps, int64_t n, float bias, Bfloat16* to) {
    if (taps == 2) {
        for (int64_t x = 0; x < n; ++x) {
            const Bfloat16 pair[] = {to_bfloat16(sums[x] + bias), to_bfloat16(sums[pitch + x] + bias)};
            const uint32_t word = pair[0].bits | uint32_t{pair[1].bits} << 16;
            std::memcpy(&to[2 * x].bits, &word, sizeof word);
        }
        return;
    }
    for (int64_t x = 0; x < n; ++x) {
        for (int64_t tap = 0; tap < taps; ++tap) to[x * taps + tap] = to_bfloat16(sums[tap * pitch + x] + bias);
    }
}

/// The taps of all windows of an image as one product in the machine's units, rounded after the addition of the bias.
diopiError_t forward_tiled(diopiContextHandle_t ctx, ConvProblem p, const View& out, const View& input,
                           const View& weight, diopiConstTensorHandle_t bias) {
    const ConvShape& s = p.shape;
    const auto [deep, high, wide] = s.window.kernel;
    const int64_t area = s.out_area(), rows = s.channels * s.window.taps();
    Staging staging(ctx);
    const auto* x = staging.in<Bfloat16>(input, p.out);
    const auto* w = staging.in<Bfloat16>(weight);
    const auto* b = staging.in<float>(bias);
    auto* y = staging.out<Bfloat16>(out);
    auto* sums = staging.buffer<float>(rows * area);
    if (staging.error() != diopiSuccess) return staging.error();
    const auto weave_rows = best<weave>();
    for (int64_t n = 0; n < s.count; ++n) {
        const Matrices<Bfloat16> image{x + n * s.out_channels * area, p.out == Layout::channels_last};
        const ProductShape shape{rows, area, s.out_channels};
        const diopiError_t error = product(ctx, shape, {w, true}, image, static_cast<const float*>(nullptr), sums);
        if (error != diopiSuccess) return error;
        // A channel has the lines of its taps by turns, along the depth and the height. Short ones are woven together.
        const int64_t line = s.in[2], lines = s.out[0] * s.out[1], together = std::max<int64_t>(kWoven / line, 1);
        parallel_for(s.channels * deep * high, area * wide, [&](int64_t first, int64_t last) {
            std::array<Bfloat16, kWoven> woven;
            for (int64_t tap = first; tap < last; ++tap) {
                const int64_t c = tap / (deep * high), z = tap / high % deep, down = tap % high;
                const float* own = sums + tap * wide * area;
                Bfloat16* image_out = y + (n * s.channels + c) * s.area();
                int64_t plane = 0, row = 0;
                for (int64_t at = 0; at < lines; at += together) {
                    const int64_t count = std::min(together, lines - at);
                    const auto next = [&] {
                        Bfloat16* to = image_out + ((plane * deep + z) * s.in[1] + row * high + down) * line;
                        if (++row == s.out[1]) row = 0, ++plane;
                        return to;
                    };
                    Bfloat16* to = together == 1 ? next() : woven.data();
                    weave_rows(own + at * s.out[2], area, wide, count * s.out[2], b == nullptr ? 0 : b[c], to);
                    for (int64_t k = 0; k < count && together > 1; ++k) std::copy_n(to + k * line, line, next());
                }
            }
        });
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
        run = is_tiled(problem.shape) ? forward_tiled : forward<Bfloat16>;
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
