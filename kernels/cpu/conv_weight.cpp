#include "kernels/cpu/conv_weight.hpp"

#include <algorithm>
#include <atomic>

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

WeightParts weight_parts(const ConvShape& s) {
    const int64_t pixels = s.count * s.out_area();
    const int64_t wanted = std::clamp<int64_t>(pixels * s.out_channels * s.depth() / kPartWork, 1, kMostParts);
    const int64_t blocks = (s.groups == 1 ? s.out_channels : s.groups) / kBlock;
    WeightParts parts;
    parts.images = std::clamp<int64_t>(std::min(s.count, pixels / kPartPixels), 1, wanted);
    parts.channels = std::clamp<int64_t>(blocks, 1, wanted / parts.images);
    return parts;
}

diopiError_t convolve_backward_weight(diopiContextHandle_t ctx, const ConvProblem& p, const void* grad_out,
                                      const void* input, float* grad_weight, Staging& staging) {
    const ConvShape& s = p.shape;
    const WeightParts parts = weight_parts(s);
    const int64_t size = p.type == dnnl::memory::data_type::bf16 ? 2 : 4, numel = s.out_channels * s.depth();
    float* sums = parts.images == 1 ? grad_weight : staging.buffer<float>(parts.images * numel);
    if (staging.error() != diopiSuccess) return staging.error();
    std::atomic<bool> failed = false;
    const int64_t count = parts.images * parts.channels;
    parallel_for(count, kWorkPerThread, [&](int64_t first, int64_t last) {
        for (int64_t at = first; at < last; ++at) {
            const Span images = part_of(at / parts.channels, parts.images, s.count, 1);
            const Span channels = part_of(at % parts.channels, parts.channels,
                                          s.groups == 1 ? s.out_channels : s.groups, parts.channels == 1 ? 1 : kBlock);
            const Part part = make_part(p, images, channels);
            const auto* g = static_cast<const std::byte*>(grad_out) + part.out * size;
            const auto* x = static_cast<const std::byte*>(input) + part.input * size;
            float* to = sums + at / parts.channels * numel + part.weight;
            if (correlate(ctx, part.problem, g, x, to) != diopiSuccess) failed = true;
        }
    });
    if (failed) return fail(diopiErrorOccurred, "oneDNN could not compute the gradient of a convolution's weight");
    if (parts.images > 1) add_up(sums, parts.images, numel, grad_weight);
    return diopiSuccess;
}

}  // namespace diopi::cpu
