/// Planes of images as the loops of pooling use them: a depth, a height and a width each, and the channels last or not.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/threads.hpp"
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

/// The most elements of a plane of both images that one thread converts for itself: 512 KiB of float32.
constexpr int64_t kOwnPlane = 1 << 17;

/// Whether both images, dense in `layout`, are of one half type and have several planes of at most kOwnPlane elements.
[[nodiscard]] inline bool has_own_planes(const View& from, const View& to, Layout layout, int64_t planes) {
    const bool is_dense = layout == Layout::channels_last || (from.is_contiguous() && to.is_contiguous());
    constexpr int64_t kSeveral = 8;
    return is_half(from.dtype) && from.dtype == to.dtype && is_dense && planes >= kSeveral &&
           from.numel + to.numel <= planes * kOwnPlane;
}

/// Calls run(planes, x, y), which makes the planes of `to` of those of `from`, both dense in `layout`: for all planes
/// at once, or, where a thread can convert a half type's planes for itself, for a few at a time, which stay in its
/// cache.
template <class T, class Run>
diopiError_t run_planes(diopiContextHandle_t ctx, const View& from, const View& to, Layout layout, int64_t planes,
                        const Run& run) {
    if (std::is_same_v<T, float> && has_own_planes(from, to, layout, planes)) {
        constexpr int64_t kElements = 1 << 12, kBytes = sizeof(Half);
        const int64_t x_size = from.numel / planes, y_size = to.numel / planes;
        const int64_t few = std::clamp<int64_t>(kElements / (x_size + y_size), 1, planes);
        const Convert widen = converter(from.dtype, Dtype::float32), narrow = converter(Dtype::float32, to.dtype);
        parallel_for(planes, x_size + y_size, [&](int64_t first, int64_t last) {
            std::vector<T> x(static_cast<size_t>(few * x_size)), y(static_cast<size_t>(few * y_size));
            for (int64_t n = first; n < last; n += few) {
                const int64_t count = std::min(few, last - n);
                widen(from.data + n * x_size * kBytes, x.data(), count * x_size);
                run(count, x.data(), y.data());
                narrow(y.data(), to.data + n * y_size * kBytes, count * y_size);
            }
        });
        return diopiSuccess;
    }
    Staging staging(ctx);
    const auto* x = staging.in<T>(from, layout);
    auto* y = staging.out<T>(to, layout);
    if (staging.error() != diopiSuccess) return staging.error();
    run(planes, x, y);
    return staging.finish();
}

}  // namespace diopi::cpu
