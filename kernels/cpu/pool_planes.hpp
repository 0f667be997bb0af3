/// Planes of images as the loops of pooling use them: a depth, a height and a width each, and the channels last or not.
#pragma once

#include <vector>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/operands/window.hpp"

namespace diopi::cpu {

/// Planes of `lanes` interleaved channels: (count, sides, lanes), with lanes = 1 unless the channels are last.
struct PoolShape {
    int64_t count = 0, lanes = 1;
    Sides in, out;

    /// Elements of an input plane, of an output plane, and of an output row.
    [[nodiscard]] int64_t in_size() const { return area_of(in) * lanes; }
    [[nodiscard]] int64_t out_size() const { return area_of(out) * lanes; }
    [[nodiscard]] int64_t out_row() const { return out[2] * lanes; }
};

[[nodiscard]] inline PoolShape pool_shape(const Images& in, const Images& out, Layout layout) {
    const bool plain = layout == Layout::plain;
    return {plain ? in.count() * in.channels() : in.count(), plain ? 1 : in.channels(), in.sides(), out.sides()};
}

/// The adaptive windows of a side of `size` elements: [floor(i * size / parts), ceil((i + 1) * size / parts)).
[[nodiscard]] inline std::vector<Span> parts_of(int64_t size, int64_t parts) {
    std::vector<Span> spans(static_cast<size_t>(parts));
    int64_t i = 0;
    for (Span& span : spans) {
        span = {i * size / parts, ((i + 1) * size + parts - 1) / parts};
        ++i;
    }
    return spans;
}

/// channels_last where both have the channels last.
[[nodiscard]] inline Layout common_layout(const Images& a, const Images& b) {
    const auto is_last = [](const Images& x) { return layout_of(x.view()) == Layout::channels_last; };
    return is_last(a) && is_last(b) ? Layout::channels_last : Layout::plain;
}

}  // namespace diopi::cpu
