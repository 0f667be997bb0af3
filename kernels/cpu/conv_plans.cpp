#include "kernels/cpu/conv_plans.hpp"

#include <algorithm>
#include <optional>

#include "core/one_thread.hpp"
#include "kernels/cpu/conv_bias.hpp"
#include "kernels/cpu/onednn_api.hpp"

namespace diopi::cpu {

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Type = memory::data_type;

/// The first number of a PlanKey: one for each kind of convolution plan.
enum Kind : int64_t { kForward = 100, kBackwardInput, kBackwardWeight, kPointwise, kPointwiseBackward };

/// Whether the channels fill oneDNN's blocks of 16.
bool fills_blocks(const ConvShape& s) {
    constexpr int64_t kBlock = 16;
    return s.group_in() % kBlock == 0 && s.group_out() % kBlock == 0;
}

/// The numbers of the problem's own sides.
memory::dims dims_of(const ConvProblem& p, const Sides& sides) {
    return {sides.end() - static_cast<std::ptrdiff_t>(p.shape.sides), sides.end()};
}
/// The same after other sizes.
memory::dims dims_of(const ConvProblem& p, memory::dims first, const Sides& sides) {
    first.insert(first.end(), sides.end() - static_cast<std::ptrdiff_t>(p.shape.sides), sides.end());
    return first;
}

/// The steps of the windows as oneDNN takes them. It counts the elements between two taps: its dilation is ours less 1.
struct Steps {
    memory::dims stride, dilation, padding;

    explicit Steps(const ConvProblem& p)
        : stride(dims_of(p, p.window().stride)),
          dilation(dims_of(p, p.window().dilation)),
          padding(dims_of(p, p.window().padding)) {
        for (auto& step : dilation) --step;
    }
};

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

/// Images, or `channels` channels of images with `stride` channels.
memory::desc image_desc(const ConvProblem& p, int64_t channels, const Sides& sides, Layout layout, int64_t stride) {
    memory::dims dims = dims_of(p, {p.shape.count, channels}, sides);
    if (stride == 0 || stride == channels) return {dims, p.type, kImageTags[p.shape.sides - 1].of(layout)};
    memory::dims strides(dims.size());
    int64_t next = layout == Layout::plain ? 1 : stride;
    for (size_t d = dims.size(); d-- > 2; next *= dims[d]) strides[d] = next;
    strides[1] = layout == Layout::plain ? next : 1;
    strides[0] = area_of(sides) * stride;
    return {dims, p.type, strides};
}

Descs user_descs(const ConvProblem& p) {
    const ConvShape& s = p.shape;
    const Sides& kernel = s.window.kernel;
    Descs descs;
    descs.input = image_desc(p, s.channels, s.in, p.input, p.input_stride);
    descs.out = image_desc(p, s.out_channels, s.out, p.out, p.out_stride);
    descs.bias = {{s.out_channels}, p.type, Tag::a};
    descs.weight = s.groups == 1 ? memory::desc(dims_of(p, {s.out_channels, s.channels}, kernel), p.type,
                                                kImageTags[s.sides - 1].of(p.weight))
                                 : memory::desc(dims_of(p, {s.groups, s.group_out(), s.group_in()}, kernel), p.type,
                                                kGroupedTags[s.sides - 1].of(p.weight));
    return descs;
}

/// Whether the primitive works on the caller's images. On channels-last images oneDNN 2.6.3 computed a wrong gradient
/// of bfloat16 whose channels do not fill blocks (17 channels to 33, 1 x 1), wrote behind the scratchpad of a gradient
/// with steps of more than one pixel in float32 (6 channels to 1, 1 x 1), and read behind images that are narrower than
/// a window with gaps (9 pixels, 6 taps, dilation 2).
bool keeps_layout(const ConvProblem& p) {
    if (p.input != Layout::channels_last || p.out != Layout::channels_last) return false;
    if (p.input_stride != 0 || p.out_stride != 0) return false;
    const Window& w = p.window();
    for (size_t side = 0; side < kMostSides; ++side) {
        if (w.dilation[side] > 1 && w.extent(side) > p.shape.in[side]) return false;
    }
    const bool skips_pixels = w.taps() == 1 && area_of(w.stride) > 1;
    return fills_blocks(p.shape) || (p.type == Type::f32 && !skips_pixels);
}

/// On SVE the gradient of a float32 weight of volumes has wrong elements for some windows with a step of several layers
/// and padding (2.6.3): 30 of 3,000 drawn ones, as (3, 1, 3, 4, 5) by (1, 1, 2, 1, 4) with steps of 3, 2, 3.
onednn::Avoided avoided_for(Kind kind, const ConvProblem& p) {
    const bool is_of_weight = kind == kBackwardWeight;
    if (p.type == Type::f32) {
        const bool skips_layers = p.shape.sides == kMostSides && p.window().stride[0] > 1;
        return is_of_weight && skips_layers ? onednn::Avoided::sve : onednn::Avoided::nothing;
    }
    return suits_amx(p.shape, is_of_weight) ? onednn::Avoided::nothing : onednn::Avoided::amx;
}

/// Channels-last images stay as they are; otherwise the primitive chooses, and the plan reorders.
Descs primitive_descs(const ConvProblem& p, const Descs& user) {
    using onednn::any_layout;
    const bool keep = keeps_layout(p);
    return {keep ? user.input : any_layout(user.input), any_layout(user.weight), user.bias,
            keep ? user.out : any_layout(user.out)};
}

PlanKey key_of(Kind kind, const ConvProblem& p) {
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
                p.has_bias ? 1 : 0,
                static_cast<int64_t>(p.type),
                p.input_stride,
                p.out_stride};
    key.reserve(key.size() + 5 * kMostSides + 1);
    for (const Sides* sides : {&s.in, &w.kernel, &w.stride, &w.padding, &w.dilation}) {
        key.insert(key.end(), sides->begin(), sides->end());
    }
    return key;
}

dnnl::convolution_forward::primitive_desc forward_desc(const ConvProblem& p, const Descs& d, dnnl::prop_kind kind) {
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const Steps steps(p);
    const auto describe = [&](const auto&... bias_and_out) {
        return onednn::describe<dnnl::convolution_forward>(avoided_for(kForward, p), onednn_engine(), onednn_attr(),
                                                           kind, algorithm, d.input, d.weight, bias_and_out...,
                                                           steps.stride, steps.dilation, steps.padding, steps.padding);
    };
    return p.has_bias ? describe(d.bias, d.out) : describe(d.out);
}

Plan make_forward(const ConvProblem& p) {
    const Descs user = user_descs(p);
    const auto desc = forward_desc(p, primitive_descs(p, user), dnnl::prop_kind::forward_inference);
    std::vector<Operand> operands{
        {DNNL_ARG_SRC, user.input, false}, {DNNL_ARG_WEIGHTS, user.weight, false}, {DNNL_ARG_DST, user.out, true}};
    if (p.has_bias) operands.push_back({DNNL_ARG_BIAS, user.bias, false});
    return Plan(desc, dnnl::convolution_forward(desc), operands);
}

/// A gradient of the problem without its bias.
template <class Primitive>
typename Primitive::primitive_desc gradient_desc(Kind kind, ConvProblem p, const Descs& d, const memory::desc& weight) {
    p.has_bias = false;
    const Steps steps(p);
    return onednn::describe_gradient<Primitive>(avoided_for(kind, p), onednn_engine(), onednn_attr(),
                                                forward_desc(p, d, dnnl::prop_kind::forward_training),
                                                dnnl::algorithm::convolution_direct, d.input, weight, d.out,
                                                steps.stride, steps.dilation, steps.padding, steps.padding);
}

Plan make_backward_input(const ConvProblem& p) {
    const Descs user = user_descs(p), d = primitive_descs(p, user);
    const auto desc = gradient_desc<dnnl::convolution_backward_data>(kBackwardInput, p, d, d.weight);
    const Operand operands[] = {{DNNL_ARG_DIFF_DST, user.out, false},
                                {DNNL_ARG_WEIGHTS, user.weight, false},
                                {DNNL_ARG_DIFF_SRC, user.input, true}};
    return Plan(desc, dnnl::convolution_backward_data(desc), operands);
}

Plan make_backward_weight(const ConvProblem& p) {
    const Descs user = user_descs(p), d = primitive_descs(p, user);
    ConvProblem in_float32 = p;
    in_float32.type = Type::f32;
    const memory::desc grad_weight = user_descs(in_float32).weight;
    const auto desc =
        gradient_desc<dnnl::convolution_backward_weights>(kBackwardWeight, p, d, onednn::any_layout(grad_weight));
    const Operand operands[] = {{DNNL_ARG_DIFF_DST, user.out, false},
                                {DNNL_ARG_SRC, user.input, false},
                                {DNNL_ARG_DIFF_WEIGHTS, grad_weight, true}};
    return Plan(desc, dnnl::convolution_backward_weights(desc), operands);
}

/// Whether a second thread costs more time than it saves. Measured on an Intel Xeon (AVX-512) of two cores.
bool is_small(const ConvShape& s) {
    const int64_t images = s.count * (s.channels * s.area() + s.out_channels * s.out_area());
    const int64_t terms = s.group_in() * s.window.taps();
    return images <= int64_t{1} << 15 && s.count * s.out_channels * s.out_area() * terms <= int64_t{1} << 20;
}

diopiError_t run_plan(diopiContextHandle_t ctx, Kind kind, const ConvProblem& problem, Plan (*make)(const ConvProblem&),
                      std::initializer_list<const void*> data, bool* varies = nullptr) {
    std::optional<OneThread> alone;
    if (is_small(problem.shape)) alone.emplace();
    Plan* plan = cached_plan(key_of(kind, problem), [&] { return make(problem); });
    if (plan == nullptr) return diopiErrorOccurred;
    if (varies != nullptr && !alone && plan->varies_with_threads()) {
        *varies = true;
        return diopiSuccess;
    }
    std::array<void*, 4> pointers{};
    // oneDNN takes every operand as writable and writes only the outputs.
    std::ranges::transform(data, pointers.begin(), [](const void* p) { return const_cast<void*>(p); });
    return plan->run(ctx, {pointers.data(), data.size()});
}

/// to (count, rows, area) = the weight, or its transpose, times from (count, columns, area).
Plan make_pointwise(const ConvProblem& p, bool transposed) {
    const ConvShape& s = p.shape;
    const int64_t rows = transposed ? s.channels : s.out_channels, columns = transposed ? s.out_channels : s.channels;
    const memory::desc weight({1, rows, columns}, p.type, transposed ? Tag::acb : Tag::abc);
    const memory::desc from({s.count, columns, s.area()}, p.type, Tag::abc);
    const memory::desc to({s.count, rows, s.area()}, p.type, Tag::abc);
    const auto desc =
        onednn::describe<dnnl::matmul>(onednn::Avoided::nothing, onednn_engine(), onednn_attr(), weight, from, to);
    const Operand operands[] = {
        {DNNL_ARG_WEIGHTS, from, false}, {DNNL_ARG_SRC, weight, false}, {DNNL_ARG_DST, to, true}};
    return Plan(desc, dnnl::matmul(desc), operands);
}

Plan make_pointwise_forward(const ConvProblem& p) { return make_pointwise(p, false); }
Plan make_pointwise_backward(const ConvProblem& p) { return make_pointwise(p, true); }

}  // namespace

bool suits_amx(const ConvShape& s, bool for_weight) {
    const Window& w = s.window;
    for (size_t side = 0; side < kMostSides; ++side) {
        if (w.taps() > 1 && w.stride[side] > w.kernel[side]) return false;
        if (s.sides < kMostSides) continue;
        const bool is_dense = w.stride[side] == 1 && w.dilation[side] == 1;
        if (!is_dense || 2 * w.padding[side] >= w.kernel[side] || s.in[side] < w.kernel[side]) return false;
    }
    return fills_blocks(s) || (s.sides < kMostSides && !for_weight);
}

bool ConvProblem::is_product() const {
    /// Pixels from which a pointwise convolution is computed as a matrix product, where that does not depend on the
    /// number of threads.
    constexpr int64_t kPointwiseArea = 16;
    // On AMX batches of products are wrong (product.cpp), and convolutions are not.
    if (type == Type::bf16 && onednn::has_amx()) return false;
    return shape.is_pointwise() && shape.groups == 1 && input == Layout::plain && out == Layout::plain &&
           shape.area() >= kPointwiseArea && !onednn::products_vary();
}

diopiError_t convolve(diopiContextHandle_t ctx, const ConvProblem& p, const ConvMemory& m, bool* varies) {
    // A bias is added after the product, so a result in bfloat16 would be rounded twice.
    if (p.is_product() && !(p.has_bias && p.type == Type::bf16)) {
        const diopiError_t error = run_plan(ctx, kPointwise, p, make_pointwise_forward, {m.input, m.weight, m.out});
        if (error != diopiSuccess) return error;
        const ChannelShape out{p.shape.count, p.shape.out_channels, p.shape.out_area(), p.out};
        if (p.has_bias) add_bias(out, static_cast<const float*>(m.bias), static_cast<float*>(m.out));
        return diopiSuccess;
    }
    return p.has_bias ? run_plan(ctx, kForward, p, make_forward, {m.input, m.weight, m.out, m.bias}, varies)
                      : run_plan(ctx, kForward, p, make_forward, {m.input, m.weight, m.out}, varies);
}

diopiError_t convolve_backward_input(diopiContextHandle_t ctx, const ConvProblem& p, const void* grad_out,
                                     const void* weight, void* grad_input, bool* varies) {
    return p.is_product()
               ? run_plan(ctx, kPointwiseBackward, p, make_pointwise_backward, {grad_out, weight, grad_input})
               : run_plan(ctx, kBackwardInput, p, make_backward_input, {grad_out, weight, grad_input}, varies);
}

diopiError_t correlate(diopiContextHandle_t ctx, const ConvProblem& p, const void* grad_out, const void* input,
                       float* grad_weight) {
    return run_plan(ctx, kBackwardWeight, p, make_backward_weight, {grad_out, input, grad_weight});
}

}  // namespace diopi::cpu
