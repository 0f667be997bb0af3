/// Convolution: oneDNN in float32, half types widened to it, our own product in float64.
#include "kernels/cpu/conv.hpp"

#include <algorithm>

#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/norm_channels.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/view.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/conv.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

/// The first number of a PlanKey: one for each kind of convolution plan.
enum Kind : int64_t { kForward = 100, kBackwardInput, kBackwardWeight, kPointwise, kPointwiseBackward };

/// A convolution, and how its operands lie in memory.
struct Problem {
    ConvShape shape;
    Layout input = Layout::plain, weight = Layout::plain, out = Layout::plain;
    bool has_bias = false;

    [[nodiscard]] const Window& window() const { return shape.window; }
};

/// The numbers of the problem's own sides.
memory::dims dims_of(const Problem& p, const Sides& sides) {
    return {sides.end() - static_cast<std::ptrdiff_t>(p.shape.sides), sides.end()};
}
/// The same after other sizes.
memory::dims dims_of(const Problem& p, memory::dims first, const Sides& sides) {
    first.insert(first.end(), sides.end() - static_cast<std::ptrdiff_t>(p.shape.sides), sides.end());
    return first;
}

/// oneDNN counts the elements between two taps: its dilation is ours less 1.
memory::dims dilation_of(const Problem& p) {
    memory::dims dilation = dims_of(p, p.window().dilation);
    for (auto& step : dilation) --step;
    return dilation;
}

/// Memory formats of tensors with one, two and three sides: row-major, and with the channels last.
struct Tags {
    Tag plain, channels_last;
    [[nodiscard]] Tag of(Layout layout) const { return layout == Layout::plain ? plain : channels_last; }
};
constexpr Tags kImageTags[] = {{Tag::abc, Tag::acb}, {Tag::abcd, Tag::acdb}, {Tag::abcde, Tag::acdeb}};
constexpr Tags kGroupedTags[] = {{Tag::abcd, Tag::abdc}, {Tag::abcde, Tag::abdec}, {Tag::abcdef, Tag::abdefc}};

/// The memory descriptors of a problem: in the caller's layouts, and ones that the primitive may choose.
struct Descs {
    memory::desc input, weight, bias, out;
};

Descs user_descs(const Problem& p) {
    const ConvShape& s = p.shape;
    const auto type = memory::data_type::f32;
    const Tags& images = kImageTags[s.sides - 1];
    const Tags& grouped = kGroupedTags[s.sides - 1];
    const Sides& kernel = s.window.kernel;
    Descs descs;
    descs.input = {dims_of(p, {s.count, s.channels}, s.in), type, images.of(p.input)};
    descs.out = {dims_of(p, {s.count, s.out_channels}, s.out), type, images.of(p.out)};
    descs.bias = {{s.out_channels}, type, Tag::a};
    descs.weight =
        s.groups == 1
            ? memory::desc(dims_of(p, {s.out_channels, s.channels}, kernel), type, images.of(p.weight))
            : memory::desc(dims_of(p, {s.groups, s.group_out(), s.group_in()}, kernel), type, grouped.of(p.weight));
    return descs;
}

/// Channels-last images stay as they are; otherwise the primitive chooses, and the plan reorders.
Descs primitive_descs(const Problem& p, const Descs& user) {
    const auto any = [](const memory::desc& d) { return memory::desc(d.dims(), d.data_type(), Tag::any); };
    const bool keep = p.input == Layout::channels_last && p.out == Layout::channels_last;
    return {keep ? user.input : any(user.input), any(user.weight), user.bias, keep ? user.out : any(user.out)};
}

PlanKey key_of(Kind kind, const Problem& p) {
    const ConvShape& s = p.shape;
    const Window& w = s.window;
    PlanKey key{kind,
                static_cast<int64_t>(s.sides),
                s.count,
                s.channels,
                s.out_channels,
                s.groups,
                static_cast<int64_t>(p.input),
                static_cast<int64_t>(p.weight),
                static_cast<int64_t>(p.out),
                p.has_bias ? 1 : 0};
    key.reserve(key.size() + 5 * kMostSides);
    for (const Sides* sides : {&s.in, &w.kernel, &w.stride, &w.padding, &w.dilation}) {
        key.insert(key.end(), sides->begin(), sides->end());
    }
    return key;
}

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, const Descs& d, dnnl::prop_kind kind) {
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const memory::dims stride = dims_of(p, p.window().stride), padding = dims_of(p, p.window().padding);
    const auto desc = p.has_bias ? dnnl::convolution_forward::desc(kind, algorithm, d.input, d.weight, d.bias, d.out,
                                                                   stride, dilation_of(p), padding, padding)
                                 : dnnl::convolution_forward::desc(kind, algorithm, d.input, d.weight, d.out, stride,
                                                                   dilation_of(p), padding, padding);
    return {desc, onednn_attr(), onednn_engine()};
}

Plan make_forward(const Problem& p) {
    const Descs user = user_descs(p);
    const auto desc = forward_desc(p, primitive_descs(p, user), dnnl::prop_kind::forward_inference);
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, user.input, false}, {DNNL_ARG_WEIGHTS, user.weight, false}, {DNNL_ARG_DST, user.out, true}};
    if (p.has_bias) operands.push_back({DNNL_ARG_BIAS, user.bias, false});
    return Plan(desc, dnnl::convolution_forward(desc), operands);
}

Plan make_backward_input(const Problem& p) {
    const Descs user = user_descs(p), d = primitive_descs(p, user);
    const memory::dims stride = dims_of(p, p.window().stride), padding = dims_of(p, p.window().padding);
    const dnnl::convolution_backward_data::primitive_desc desc(
        {dnnl::algorithm::convolution_direct, d.input, d.weight, d.out, stride, dilation_of(p), padding, padding},
        onednn_attr(), onednn_engine(), forward_desc(p, d, dnnl::prop_kind::forward_training));
    const Operand operands[] = {{DNNL_ARG_DIFF_DST, user.out, false},
                                {DNNL_ARG_WEIGHTS, user.weight, false},
                                {DNNL_ARG_DIFF_SRC, user.input, true}};
    return Plan(desc, dnnl::convolution_backward_data(desc), operands);
}

Plan make_backward_weight(const Problem& p) {
    const Descs user = user_descs(p), d = primitive_descs(p, user);
    const memory::dims stride = dims_of(p, p.window().stride), padding = dims_of(p, p.window().padding);
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {dnnl::algorithm::convolution_direct, d.input, d.weight, d.out, stride, dilation_of(p), padding, padding},
        onednn_attr(), onednn_engine(), forward_desc(p, d, dnnl::prop_kind::forward_training));
    const Operand operands[] = {{DNNL_ARG_DIFF_DST, user.out, false},
                                {DNNL_ARG_SRC, user.input, false},
                                {DNNL_ARG_DIFF_WEIGHTS, user.weight, true}};
    return Plan(desc, dnnl::convolution_backward_weights(desc), operands);
}

diopiError_t run_plan(diopiContextHandle_t ctx, Kind kind, const Problem& problem, Plan (*make)(const Problem&),
                      std::initializer_list<const void*> data) {
    Plan* plan = cached_plan(key_of(kind, problem), [&] { return make(problem); });
    if (plan == nullptr) return diopiErrorOccurred;
    std::array<void*, 4> pointers{};
    // oneDNN takes every operand as writable and writes only the outputs.
    std::ranges::transform(data, pointers.begin(), [](const void* p) { return const_cast<void*>(p); });
    return plan->run(ctx, {pointers.data(), data.size()});
}

/// Pixels from which a pointwise convolution is computed as a matrix product.
constexpr int64_t kPointwiseArea = 16;

/// A convolution of 1 x 1 in plain layouts is one matrix product for each image, and saves the reorders (on an AMD EPYC
/// 1.5 times as fast as the convolution primitive for 16 x 256 x 14 x 14 to 1024 channels).
bool is_product(const Problem& p) {
    return p.shape.is_pointwise() && p.shape.groups == 1 && p.input == Layout::plain && p.out == Layout::plain &&
           p.shape.area() >= kPointwiseArea;
}

/// to (count, rows, area) = the weight, or its transpose, times from (count, columns, area).
Plan make_pointwise(const Problem& p, bool transposed) {
    const ConvShape& s = p.shape;
    const auto type = memory::data_type::f32;
    const int64_t rows = transposed ? s.channels : s.out_channels, columns = transposed ? s.out_channels : s.channels;
    const memory::desc weight({1, rows, columns}, type, transposed ? Tag::acb : Tag::abc);
    const memory::desc from({s.count, columns, s.area()}, type, Tag::abc),
        to({s.count, rows, s.area()}, type, Tag::abc);
    const dnnl::matmul::primitive_desc desc(dnnl::matmul::desc(weight, from, to), onednn_attr(), onednn_engine());
    const Operand operands[] = {
        {DNNL_ARG_WEIGHTS, from, false}, {DNNL_ARG_SRC, weight, false}, {DNNL_ARG_DST, to, true}};
    return Plan(desc, dnnl::matmul(desc), operands);
}

Plan make_pointwise_forward(const Problem& p) { return make_pointwise(p, false); }
Plan make_pointwise_backward(const Problem& p) { return make_pointwise(p, true); }

void add_bias(const ConvShape& s, const float* bias, float* out) {
    parallel_for(s.count * s.out_channels, s.out_area(), [&](int64_t first, int64_t last) {
        for (int64_t plane = first; plane < last; ++plane) {
            const float b = bias[plane % s.out_channels];
            for (int64_t i = plane * s.out_area(); i < (plane + 1) * s.out_area(); ++i) out[i] += b;
        }
    });
}

diopiError_t forward_float32(diopiContextHandle_t ctx, const Problem& p, const View& out, const View& input,
                             const View& weight, diopiConstTensorHandle_t bias) {
    Staging staging(ctx);
    const auto* x = staging.in<float>(input, p.input);
    const auto* w = staging.in<float>(weight, p.weight);
    const auto* b = staging.in<float>(bias);
    auto* y = staging.out<float>(out, p.out);
    if (staging.error() != diopiSuccess) return staging.error();
    if (is_product(p)) {
        const diopiError_t error = run_plan(ctx, kPointwise, p, make_pointwise_forward, {x, w, y});
        if (error != diopiSuccess) return error;
        if (b != nullptr) add_bias(p.shape, b, y);
        return staging.finish();
    }
    const diopiError_t error = p.has_bias ? run_plan(ctx, kForward, p, make_forward, {x, w, y, b})
                                          : run_plan(ctx, kForward, p, make_forward, {x, w, y});
    return error != diopiSuccess ? error : staging.finish();
}

diopiError_t forward_float64(diopiContextHandle_t ctx, const Problem& p, const View& out, const View& input,
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

/// grad_bias[c] = the sum of grad_out over all dimensions but the channels.
diopiError_t bias_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_bias, const View& grad_out,
                           const ConvShape& s) {
    Staging staging(ctx);
    auto* sums = staging.out<double>(grad_bias);
    const ChannelShape shape{s.count, s.out_channels, s.out_area(), layout_of(grad_out)};
    if (grad_out.dtype == Dtype::float64) {
        const auto* g = staging.in<double>(grad_out, shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    } else {
        const auto* g = staging.in<float>(grad_out, shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    }
    return staging.finish();
}

struct ConvGradients {
    diopiTensorHandle_t input, weight;
};

diopiError_t backward_float32(diopiContextHandle_t ctx, const Problem& p, const ConvGradients& grads,
                              const View& grad_out, const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<float>(grad_out, p.out);
    if (grads.input != nullptr) {
        const auto* w = staging.in<float>(weight, p.weight);
        const Images grad_input(p.shape.sides, view(grads.input));
        auto* gx = staging.out<float>(grad_input.view(), p.input);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = is_product(p)
                                       ? run_plan(ctx, kPointwiseBackward, p, make_pointwise_backward, {g, w, gx})
                                       : run_plan(ctx, kBackwardInput, p, make_backward_input, {g, w, gx});
        if (error != diopiSuccess) return error;
    }
    if (grads.weight != nullptr) {
        const auto* x = staging.in<float>(input, p.input);
        auto* gw = staging.out<float>(view(grads.weight), p.weight);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = run_plan(ctx, kBackwardWeight, p, make_backward_weight, {g, x, gw});
        if (error != diopiSuccess) return error;
    }
    return staging.finish();
}

diopiError_t backward_float64(diopiContextHandle_t ctx, const Problem& p, const ConvGradients& grads,
                              const View& grad_out, const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<double>(grad_out);
    auto* gx = staging.out<double>(grads.input);
    auto* gw = staging.out<double>(grads.weight);
    const auto* w = gx != nullptr ? staging.in<double>(weight) : nullptr;
    const auto* x = gw != nullptr ? staging.in<double>(input) : nullptr;
    auto* workspace = staging.buffer<double>(conv_workspace(p.shape));
    if (staging.error() != diopiSuccess) return staging.error();
    if (gx != nullptr) conv_backward_input(p.shape, g, w, gx, workspace);
    if (gw != nullptr) conv_backward_weight(p.shape, g, x, gw, workspace);
    return staging.finish();
}

}  // namespace

diopiError_t convolution(diopiContextHandle_t ctx, std::string_view op, size_t sides, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                         diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    Problem problem;
    const View x = view(input), w = view(weight), y = view(out);
    diopiError_t error = read_convolution(op, sides, x, w, y, {stride, padding, dilation, groups}, problem.shape);
    if (error == diopiSuccess && bias != nullptr) error = check_bias(op, "bias", view(bias), problem.shape);
    if (error != diopiSuccess || y.numel == 0) return error;
    const Images images(sides, x), outputs(sides, y);
    problem.input = layout_of(images.view()), problem.out = layout_of(outputs.view()), problem.weight = layout_of(w);
    problem.has_bias = bias != nullptr;
    const bool wide = x.dtype == Dtype::float64 || problem.shape.is_empty();
    return (wide ? forward_float64 : forward_float32)(ctx, problem, outputs.view(), images.view(), w, bias);
}

diopiError_t convolution_backward(diopiContextHandle_t ctx, std::string_view op, size_t sides,
                                  diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                  diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                  diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    Problem problem;
    const View x = view(input), w = view(weight), g = view(grad_output);
    diopiError_t error = read_convolution(op, sides, x, w, g, {stride, padding, dilation, groups}, problem.shape);
    if (error == diopiSuccess) error = check_gradients(op, grad_input, x, grad_weight, w);
    if (error != diopiSuccess) return error;
    const Images images(sides, x), outputs(sides, g);
    problem.input = layout_of(images.view()), problem.out = layout_of(outputs.view()), problem.weight = layout_of(w);
    if (grad_bias != nullptr) {
        const diopiError_t failed = bias_gradient(ctx, grad_bias, outputs.view(), problem.shape);
        if (failed != diopiSuccess) return failed;
    }
    if (problem.shape.is_empty()) {
        fill({grad_input, grad_weight}, 0);
        return diopiSuccess;
    }
    return (x.dtype == Dtype::float64 ? backward_float64 : backward_float32)(ctx, problem, {grad_input, grad_weight},
                                                                             outputs.view(), images.view(), w);
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::cpu
