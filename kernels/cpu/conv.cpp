/// Two-dimensional convolution: oneDNN in float32, half types widened to it, our own product in float64.
#include "core/shape.hpp"
#include "kernels/cpu/conv_float64.hpp"
#include "kernels/cpu/norm.hpp"
#include "kernels/cpu/onednn.hpp"
#include "kernels/cpu/onednn_threads.hpp"
#include "kernels/cpu/operators.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;

/// The first number of a PlanKey: one for each kind of convolution plan.
enum Kind : int64_t { kForward = 100, kBackwardInput, kBackwardWeight, kPointwise, kPointwiseBackward };

/// The operands of a convolution and its gradients, checked against each other.
struct Problem {
    ConvShape shape;
    Layout input = Layout::plain, weight = Layout::plain, out = Layout::plain;
    bool has_bias = false;

    [[nodiscard]] bool is_empty() const {
        return shape.count == 0 || shape.out_channels == 0 || shape.out_area() == 0 || shape.depth() == 0 ||
               shape.area() == 0;
    }
};

diopiError_t read_problem(std::string_view op, const View& input, const View& weight, const View& out,
                          diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups,
                          Problem& problem) {
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (!Images::fits(input)) return wrong_shape(op, "input", input.shape, "(N, C, H, W) or (C, H, W)");
    if (weight.rank() != 4) return wrong_shape(op, "weight", weight.shape, "(out, in / groups, height, width)");
    const Images images(input), outputs(out);
    ConvShape& s = problem.shape;
    s.window = {{weight.shape[2], weight.shape[3]},
                pair_of(stride, {1, 1}),
                pair_of(padding, {0, 0}),
                pair_of(dilation, {1, 1})};
    if (!s.window.sound() || groups <= 0) {
        return fail(diopiErrorOccurred, std::string(op) +
                                            ": wanted kernel sides, strides, dilations and groups of at least 1 and "
                                            "paddings of at least 0");
    }
    s.groups = groups;
    s.count = images.count(), s.channels = images.channels(), s.height = images.height(), s.width = images.width();
    s.out_channels = weight.shape[0];
    s.out_height = s.window.places(0, s.height), s.out_width = s.window.places(1, s.width);
    if (s.channels % groups != 0 || s.out_channels % groups != 0 || weight.shape[1] != s.channels / groups) {
        return wrong_shape(op, "weight", weight.shape,
                           "(out, " + std::to_string(s.channels) + " / groups, height, width) with sides that " +
                               std::to_string(groups) + " groups divide");
    }
    const Shape wanted{s.count, s.out_channels, s.out_height, s.out_width};
    if (out.rank() != input.rank() || !std::ranges::equal(outputs.view().shape, wanted)) {
        return wrong_shape(op, "out", out.shape, to_string(wanted));
    }
    problem.input = images.layout();
    problem.out = outputs.layout();
    problem.weight = layout_of(weight);
    return diopiSuccess;
}

memory::dims dims_of(Pair pair) { return {pair[0], pair[1]}; }

/// The memory descriptors of a problem: of the caller's layouts, and those that the primitive may choose.
struct Descs {
    memory::desc input, weight, bias, out;
};

Descs user_descs(const Problem& p) {
    const ConvShape& s = p.shape;
    const auto type = memory::data_type::f32;
    const auto image_tag = [](Layout layout) { return layout == Layout::plain ? Tag::nchw : Tag::nhwc; };
    const bool plain = p.weight == Layout::plain;
    const int64_t kh = s.window.kernel[0], kw = s.window.kernel[1];
    Descs descs;
    descs.input = {{s.count, s.channels, s.height, s.width}, type, image_tag(p.input)};
    descs.out = {{s.count, s.out_channels, s.out_height, s.out_width}, type, image_tag(p.out)};
    descs.bias = {{s.out_channels}, type, Tag::a};
    descs.weight =
        s.groups == 1
            ? memory::desc({s.out_channels, s.channels, kh, kw}, type, plain ? Tag::abcd : Tag::acdb)
            : memory::desc({s.groups, s.group_out(), s.group_in(), kh, kw}, type, plain ? Tag::abcde : Tag::abdec);
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
    return {kind,
            s.count,
            s.channels,
            s.height,
            s.width,
            s.out_channels,
            s.groups,
            w.kernel[0],
            w.kernel[1],
            w.stride[0],
            w.stride[1],
            w.padding[0],
            w.padding[1],
            w.dilation[0],
            w.dilation[1],
            static_cast<int64_t>(p.input),
            static_cast<int64_t>(p.weight),
            static_cast<int64_t>(p.out),
            p.has_bias ? 1 : 0};
}

dnnl::convolution_forward::primitive_desc forward_desc(const Problem& p, const Descs& d, dnnl::prop_kind kind) {
    const Window& w = p.shape.window;
    // oneDNN counts the elements between two taps: its dilation is ours less 1.
    const memory::dims dilation = {w.dilation[0] - 1, w.dilation[1] - 1};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto desc =
        p.has_bias
            ? dnnl::convolution_forward::desc(kind, algorithm, d.input, d.weight, d.bias, d.out, dims_of(w.stride),
                                              dilation, dims_of(w.padding), dims_of(w.padding))
            : dnnl::convolution_forward::desc(kind, algorithm, d.input, d.weight, d.out, dims_of(w.stride), dilation,
                                              dims_of(w.padding), dims_of(w.padding));
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
    const Window& w = p.shape.window;
    const dnnl::convolution_backward_data::primitive_desc desc({dnnl::algorithm::convolution_direct,
                                                                d.input,
                                                                d.weight,
                                                                d.out,
                                                                dims_of(w.stride),
                                                                {w.dilation[0] - 1, w.dilation[1] - 1},
                                                                dims_of(w.padding),
                                                                dims_of(w.padding)},
                                                               onednn_attr(), onednn_engine(),
                                                               forward_desc(p, d, dnnl::prop_kind::forward_training));
    const Operand operands[] = {{DNNL_ARG_DIFF_DST, user.out, false},
                                {DNNL_ARG_WEIGHTS, user.weight, false},
                                {DNNL_ARG_DIFF_SRC, user.input, true}};
    return Plan(desc, dnnl::convolution_backward_data(desc), operands);
}

Plan make_backward_weight(const Problem& p) {
    const Descs user = user_descs(p), d = primitive_descs(p, user);
    const Window& w = p.shape.window;
    const dnnl::convolution_backward_weights::primitive_desc desc(
        {dnnl::algorithm::convolution_direct,
         d.input,
         d.weight,
         d.out,
         dims_of(w.stride),
         {w.dilation[0] - 1, w.dilation[1] - 1},
         dims_of(w.padding),
         dims_of(w.padding)},
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

/// Pixels from which a pointwise convolution goes as a matrix product.
constexpr int64_t kPointwiseArea = 16;

/// A convolution of 1 x 1 in plain layouts is one matrix product for each image, and saves the reorders (on an AMD EPYC
/// 1.5 times as fast as the convolution primitive for 16 x 256 x 14 x 14 to 1024 channels).
bool is_pointwise(const Problem& p) {
    const ConvShape& s = p.shape;
    const Window& w = s.window;
    return w.kernel == Pair{1, 1} && w.stride == Pair{1, 1} && w.padding == Pair{0, 0} && s.groups == 1 &&
           p.input == Layout::plain && p.out == Layout::plain && s.area() >= kPointwiseArea;
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
    if (is_pointwise(p)) {
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

/// grad_bias[c] = the sum of grad_out over all but the channels.
diopiError_t bias_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_bias, const View& grad_out,
                           const ConvShape& s) {
    const Images images(grad_out);
    Staging staging(ctx);
    auto* sums = staging.out<double>(grad_bias);
    const ChannelShape shape{s.count, s.out_channels, s.out_area(), images.layout()};
    if (grad_out.dtype == Dtype::float64) {
        const auto* g = staging.in<double>(images.view(), shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    } else {
        const auto* g = staging.in<float>(images.view(), shape.layout);
        if (staging.error() == diopiSuccess) channel_sums(shape, g, sums);
    }
    return staging.finish();
}

struct Gradients {
    diopiTensorHandle_t input, weight;
};

diopiError_t backward_float32(diopiContextHandle_t ctx, const Problem& p, Gradients grads, const View& grad_out,
                              const View& input, const View& weight) {
    Staging staging(ctx);
    const auto* g = staging.in<float>(grad_out, p.out);
    if (grads.input != nullptr) {
        const auto* w = staging.in<float>(weight, p.weight);
        auto* gx = staging.out<float>(Images(view(grads.input)).view(), p.input);
        if (staging.error() != diopiSuccess) return staging.error();
        const diopiError_t error = is_pointwise(p)
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

diopiError_t backward_float64(diopiContextHandle_t ctx, const Problem& p, Gradients grads, const View& grad_out,
                              const View& input, const View& weight) {
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

diopiError_t diopiConvolution2d(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias, diopiSize_t stride,
                                diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    constexpr std::string_view kOp = "diopiConvolution2d";
    Problem problem;
    const View x = view(input), w = view(weight), y = view(out);
    const diopiError_t error = read_problem(kOp, x, w, y, stride, padding, dilation, groups, problem);
    if (error != diopiSuccess) return error;
    if (bias != nullptr && view(bias).numel != problem.shape.out_channels) {
        return wrong_shape(kOp, "bias", view(bias).shape, to_string(Shape{problem.shape.out_channels}));
    }
    problem.has_bias = bias != nullptr;
    if (y.numel == 0) return diopiSuccess;
    const Images images(x), outputs(y);
    const bool wide = x.dtype == Dtype::float64 || problem.is_empty();
    return (wide ? forward_float64 : forward_float32)(ctx, problem, outputs.view(), images.view(), w, bias);
}

diopiError_t diopiConvolution2dBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                        diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                        diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                        diopiConstTensorHandle_t weight, diopiSize_t*, diopiSize_t stride,
                                        diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    constexpr std::string_view kOp = "diopiConvolution2dBackward";
    Problem problem;
    const View x = view(input), w = view(weight), g = view(grad_output);
    const diopiError_t error = read_problem(kOp, x, w, g, stride, padding, dilation, groups, problem);
    if (error != diopiSuccess) return error;
    if (grad_bias != nullptr) {
        const diopiError_t failed = bias_gradient(ctx, grad_bias, g, problem.shape);
        if (failed != diopiSuccess) return failed;
    }
    if (problem.is_empty()) {
        for (const diopiTensorHandle_t gradient : {grad_input, grad_weight}) {
            if (gradient == nullptr) continue;
            if (const diopiError_t failed = fill(ctx, view(gradient), 0); failed != diopiSuccess) return failed;
        }
        return diopiSuccess;
    }
    const Images images(x), outputs(g);
    return (x.dtype == Dtype::float64 ? backward_float64 : backward_float32)(ctx, problem, {grad_input, grad_weight},
                                                                             outputs.view(), images.view(), w);
}

}  // namespace diopi::cpu
