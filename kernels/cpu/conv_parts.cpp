#include "kernels/cpu/conv_parts.hpp"

#include <algorithm>
#include <atomic>

#include "core/one_thread.hpp"
#include "kernels/cpu/onednn_api.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

namespace {

/// Found by trial on an AMD EPYC (Zen 5): multiply-adds of a part, most parts, output pixels that make up for a part's
/// own sums, and the channels of a block of oneDNN.
constexpr int64_t kPartWork = 1 << 22, kMostParts = 8, kPartPixels = 2048, kBlock = 16;

/// Part `i` of `parts` of `size`, in whole blocks of `block`.
Span part_of(int64_t i, int64_t parts, int64_t size, int64_t block) {
    const int64_t blocks = (size + block - 1) / block;
    return {std::min(blocks * i / parts * block, size), std::min(blocks * (i + 1) / parts * block, size)};
}

/// A part as a problem of its own, and where its operands begin, in elements.
struct Part {
    ConvProblem problem;
    int64_t input, out, weight;
};

int64_t offset_of(const Sides& sides, int64_t channels, Layout layout, int64_t image, int64_t channel) {
    return image * channels * area_of(sides) + channel * (layout == Layout::plain ? area_of(sides) : 1);
}

Part make_part(const ConvProblem& whole, Span images, Span channels) {
    const ConvShape& s = whole.shape;
    Part part{whole, 0, 0, 0};
    ConvShape& own = part.problem.shape;
    own.count = images.last - images.first;
    const int64_t number = channels.last - channels.first;
    int64_t first_in = 0, first_out = channels.first;
    if (s.groups == 1) {
        own.out_channels = number;
    } else {
        own.groups = number;
        own.channels = number * s.group_in();
        own.out_channels = number * s.group_out();
        first_in = channels.first * s.group_in();
        first_out = channels.first * s.group_out();
    }
    if (own.channels != s.channels) part.problem.input_stride = s.channels;
    if (own.out_channels != s.out_channels) part.problem.out_stride = s.out_channels;
    part.input = offset_of(s.in, s.channels, whole.input, images.first, first_in);
    part.out = offset_of(s.out, s.out_channels, whole.out, images.first, first_out);
    part.weight = first_out * s.depth();
    return part;
}

/// The output channels, or the groups where there are several.
int64_t units_of(const ConvShape& s) { return s.groups == 1 ? s.out_channels : s.groups; }

/// Part `i` of the parts of all images and channels.
Part nth_part(const ConvProblem& p, ConvParts parts, int64_t i) {
    const ConvShape& s = p.shape;
    const int64_t block = parts.channels == 1 ? 1 : kBlock;
    return make_part(p, part_of(i / parts.channels, parts.images, s.count, 1),
                     part_of(i % parts.channels, parts.channels, units_of(s), block));
}

/// The address of element `place` of an operand.
const std::byte* at(const ConvProblem& p, const void* operand, int64_t place) {
    const int64_t item_size = p.type == dnnl::memory::data_type::bf16 ? 2 : 4;
    return static_cast<const std::byte*>(operand) + place * item_size;
}
std::byte* at(const ConvProblem& p, void* operand, int64_t place) {
    return const_cast<std::byte*>(at(p, static_cast<const void*>(operand), place));
}

/// Calls body(i) for i in [0, count), in threads in which oneDNN uses one thread; each returns an error.
template <class Body>
diopiError_t for_each_part(int64_t count, Body&& body) {
    constexpr int64_t kEnough = 1 << 20;  // elements: each part is worth a thread
    std::atomic<bool> failed = false;
    parallel_for(count, kEnough, [&](int64_t first, int64_t last) {
        const OneThread one_thread;
        for (int64_t i = first; i < last; ++i) {
            if (body(i) != diopiSuccess) failed = true;
        }
    });
    return failed ? fail(diopiErrorOccurred, "oneDNN could not compute a part of a convolution or of its gradient")
                  : diopiSuccess;
}

/// to = the sum of `count` arrays of `n` numbers, in their order.
void add_up(const float* terms, int64_t count, int64_t n, float* to) {
    constexpr int64_t kTile = 2048;
    parallel_for((n + kTile - 1) / kTile, kTile * count, [&](int64_t first, int64_t last) {
        for (int64_t begin = first * kTile; begin < last * kTile; begin += kTile) {
            const int64_t end = std::min(begin + kTile, n);
            std::copy(terms + begin, terms + end, to + begin);
            for (int64_t k = 1; k < count; ++k) {
                const float* next = terms + k * n;
                for (int64_t i = begin; i < end; ++i) to[i] += next[i];
            }
        }
    });
}

}  // namespace

ConvParts weight_parts(const ConvShape& s) {
    const int64_t pixels = s.count * s.out_area();
    const int64_t wanted = std::clamp<int64_t>(pixels * s.out_channels * s.depth() / kPartWork, 1, kMostParts);
    ConvParts parts;
    parts.images = std::clamp<int64_t>(std::min(s.count, pixels / kPartPixels), 1, wanted);
    parts.channels = std::clamp<int64_t>(units_of(s) / kBlock, 1, wanted / parts.images);
    return parts;
}

diopiError_t convolution_result(diopiContextHandle_t ctx, const ConvProblem& p, const ConvMemory& m) {
    bool varies = false;
    const diopiError_t error = convolve(ctx, p, m, &varies);
    if (!varies) return error;
    ConvParts parts;
    parts.images = std::min(p.shape.count, kMostParts);
    parts.channels = std::clamp<int64_t>(units_of(p.shape) / kBlock, 1, kMostParts / parts.images);
    return for_each_part(parts.images * parts.channels, [&](int64_t i) {
        const Part part = nth_part(p, parts, i);
        const void* bias = p.has_bias ? at(p, m.bias, part.weight / p.shape.depth()) : nullptr;
        return convolve(ctx, part.problem,
                        {at(p, m.input, part.input), at(p, m.weight, part.weight), bias, at(p, m.out, part.out)});
    });
}

diopiError_t input_gradient(diopiContextHandle_t ctx, const ConvProblem& p, const void* grad_out, const void* weight,
                            void* grad_input) {
    const bool is_strided = std::ranges::any_of(p.window().stride, [](int64_t step) { return step > 1; });
    bool varies = onednn::strided_gradients_vary() && is_strided;
    if (!varies) {
        const diopiError_t error = convolve_backward_input(ctx, p, grad_out, weight, grad_input, &varies);
        if (!varies) return error;
    }
    const ConvParts parts{std::min(p.shape.count, kMostParts), 1};
    return for_each_part(parts.images, [&](int64_t i) {
        const Part part = nth_part(p, parts, i);
        return convolve_backward_input(ctx, part.problem, at(p, grad_out, part.out), weight,
                                       at(p, grad_input, part.input));
    });
}

diopiError_t weight_gradient(diopiContextHandle_t ctx, const ConvProblem& p, const void* grad_out, const void* input,
                             float* grad_weight, Staging& staging) {
    const ConvShape& s = p.shape;
    const ConvParts parts = weight_parts(s);
    const int64_t numel = s.out_channels * s.depth();
    float* sums = parts.images == 1 ? grad_weight : staging.buffer<float>(parts.images * numel);
    if (staging.error() != diopiSuccess) return staging.error();
    const diopiError_t error = for_each_part(parts.images * parts.channels, [&](int64_t i) {
        const int64_t set = i / parts.channels;
        const Part part = nth_part(p, parts, i);
        return correlate(ctx, part.problem, at(p, grad_out, part.out), at(p, input, part.input),
                         sums + set * numel + part.weight);
    });
    if (error == diopiSuccess && parts.images > 1) add_up(sums, parts.images, numel, grad_weight);
    return error;
}

}  // namespace diopi::cpu
