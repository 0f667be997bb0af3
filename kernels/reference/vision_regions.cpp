/// Regions of images, pooled by means of samples, and boxes of which those that overlap better ones are dropped.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/places.hpp"
#include "kernels/reference/vision_taps.hpp"

namespace diopi::reference {

namespace {

/// The arguments that are not tensors.
struct RegionOptions {
    double spatial_scale;
    int64_t sampling_ratio;
    bool aligned;
};

/// The taps of the samples of each bin along one side of a region.
template <class T>
struct RegionSide {
    std::vector<std::vector<Taps<T>>> bins;
    double samples = 0;      ///< in each bin
    bool is_certain = true;  ///< false: rounding may change the number of samples
};

/// Linear between elements; the first and the last element reach one element further, and there is nothing behind.
template <class T>
Taps<T> taps_at(const T& position, int64_t size) {
    const double value = value_of(position), error = error_of(position), last = static_cast<double>(size - 1);
    const bool at_end = value < -1 ? value + error >= -1 : value - error < -1;
    const bool at_far_end = value > last + 1 ? value - error <= last + 1 : value + error > last + 1;
    Taps<T> taps;
    if (value >= -1 && value <= last + 1) {
        const bool is_low = value <= 0, is_high = value >= last;
        const double reach = is_low ? value + error : last - value + error;
        taps = linear_taps(is_low || is_high
                               ? with_error(T(is_low ? 0.0 : last), is_low ? 0.0 : last, std::max(reach, 0.0))
                               : position);
        for (Tap<T>& tap : taps) tap.at = std::clamp<int64_t>(tap.at, 0, size - 1);
    }
    // A library may have the whole element or nothing.
    if (error > 0 && at_end) taps.push_back({0, with_error(T(0), 0, 1)});
    if (error > 0 && at_far_end) taps.push_back({size - 1, with_error(T(0), 0, 1)});
    return taps;
}

template <class T>
RegionSide<T> side_of(double low, double high, const RegionOptions& options, int64_t bins, int64_t size) {
    const T scale = T(options.spatial_scale) * T(1), offset = T(options.aligned ? 0.5 : 0.0);
    const T start = T(low) * scale - offset, end = T(high) * scale - offset;
    T length = end - start;
    if (!options.aligned && value_of(length) < 1) {
        length = with_error(T(1), 1, std::max(value_of(length) + error_of(length) - 1, 0.0));
    }
    const T bin = length / T(static_cast<double>(bins));
    RegionSide<T> side;
    side.samples = static_cast<double>(options.sampling_ratio);
    if (options.sampling_ratio <= 0) {
        side.samples = std::ceil(value_of(bin));
        side.is_certain = std::ceil(value_of(bin) - error_of(bin)) == std::ceil(value_of(bin) + error_of(bin));
    }
    for (int64_t b = 0; b < bins; ++b) {
        std::vector<Taps<T>>& samples = side.bins.emplace_back();
        const T first = start + T(static_cast<double>(b)) * bin;
        for (double i = 0; i < side.samples; ++i) {
            samples.push_back(taps_at(first + T(i + 0.5) * bin / T(side.samples), size));
        }
    }
    return side;
}

void require_regions(ShapeView input, ShapeView rois, ShapeView pooled, int64_t height, int64_t width) {
    if (input.size() != 4) refuse("input has shape " + to_string(input) + ", wanted (N, C, H, W)");
    if (rois.size() != 2 || rois[1] != 5) refuse("rois has shape " + to_string(rois) + ", wanted (K, 5)");
    require_shape("the pooled regions", pooled, Shape{rois[0], input[1], height, width});
    if (height < 1 || width < 1) refuse("the pooled sides are not positive");
}

/// Calls visit(element of the pooled regions, element of the image, weight, number of samples of the bin) for each tap.
template <class T, class Visit>
void for_each_tap(const Operand<double>& rois, ShapeView input, ShapeView pooled, const RegionOptions& options,
                  Visit&& visit) {
    for (int64_t k = 0; k < pooled[0]; ++k) {
        const double image = rois[5 * k];
        if (!(image >= 0 && image < static_cast<double>(input[0]))) {
            refuse("rois names image " + std::to_string(image) + " of " + std::to_string(input[0]));
        }
        const auto x = side_of<T>(rois[5 * k + 1], rois[5 * k + 3], options, pooled[3], input[3]);
        const auto y = side_of<T>(rois[5 * k + 2], rois[5 * k + 4], options, pooled[2], input[2]);
        const double count = std::max(x.samples * y.samples, 1.0);
        const double unknown = x.is_certain && y.is_certain ? 0 : std::numeric_limits<double>::infinity();
        for (int64_t c = 0; c < input[1]; ++c) {
            const int64_t plane = (static_cast<int64_t>(image) * input[1] + c) * input[2];
            for (int64_t at = 0; at < pooled[2] * pooled[3]; ++at) {
                const int64_t bin = (k * pooled[1] + c) * pooled[2] * pooled[3] + at;
                for (const Taps<T>& down : y.bins[static_cast<size_t>(at / pooled[3])]) {
                    for (const Taps<T>& along : x.bins[static_cast<size_t>(at % pooled[3])]) {
                        for (const Tap<T>& i : down) {
                            for (const Tap<T>& j : along) {
                                T weight = i.weight * j.weight;
                                if (unknown > 0) weight = with_error(weight, value_of(weight), unknown);
                                visit(bin, (plane + i.at) * input[3] + j.at, weight, count);
                            }
                        }
                    }
                }
            }
        }
    }
}

diopiError_t roi_align(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t rois, double spatial_scale,
                       int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> x(input, "input");
        const Operand<double> regions(rois, "rois");
        Output<T> y(out, "out", Output<T>::Start::kZero);
        require_regions(x.shape(), regions.shape(), y.shape(), pooled_height, pooled_width);
        std::vector<Sum<T>> sums(static_cast<size_t>(y.numel()));
        std::vector<double> counts(sums.size(), 1);
        for_each_tap<T>(regions, x.shape(), y.shape(), {spatial_scale, sampling_ratio, aligned},
                        [&](int64_t to, int64_t from, const T& weight, double count) {
                            sums[static_cast<size_t>(to)] += weight * x[from];
                            counts[static_cast<size_t>(to)] = count;
                        });
        for (int64_t i = 0; i < y.numel(); ++i) {
            y[i] = sums[static_cast<size_t>(i)].value() / T(counts[static_cast<size_t>(i)]);
        }
        y.store();
    });
}

diopiError_t roi_align_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t grad, diopiConstTensorHandle_t rois, double spatial_scale,
                                int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                                int64_t height, int64_t width, int64_t sampling_ratio, bool aligned) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad, "grad");
        const Operand<double> regions(rois, "rois");
        Output<T> gx(out, "out");
        require_shape("out", gx.shape(), Shape{batch_size, channels, height, width});
        require_regions(gx.shape(), regions.shape(), g.shape(), pooled_height, pooled_width);
        std::vector<Sum<T>> sums(static_cast<size_t>(gx.numel()));
        for_each_tap<T>(regions, gx.shape(), g.shape(), {spatial_scale, sampling_ratio, aligned},
                        [&](int64_t from, int64_t to, const T& weight, double count) {
                            sums[static_cast<size_t>(to)] += weight * T(g[from]) / T(count);
                        });
        for (int64_t i = 0; i < gx.numel(); ++i) gx[i] = sums[static_cast<size_t>(i)].value();
        gx.store();
    });
}

/// Intersection over union of two boxes (x1, y1, x2, y2).
double overlap(const double* a, const double* b) {
    const double width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0);
    const double height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0);
    const double areas = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]);
    return width * height / (areas - width * height);
}

/// out holds the positions of the boxes that are kept, in the order of falling confidence. A box is kept where its
/// overlap with each kept box of higher confidence is at most the threshold. Of equal numbers the first one is higher,
/// and NaN is higher than any number.
diopiError_t nms(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t* out, diopiConstTensorHandle_t boxes,
                 diopiConstTensorHandle_t confidence, double iou_threshold) {
    return kernel([&] {
        const Operand<double> x(boxes, "boxes"), score(confidence, "confidence");
        if (x.rank() != 2 || x.size(1) != 4) refuse("boxes has shape " + to_string(x.shape()) + ", wanted (N, 4)");
        require_shape("confidence", score.shape(), Shape{x.size(0)});
        std::vector<int64_t> order(static_cast<size_t>(score.numel())), kept;
        std::iota(order.begin(), order.end(), int64_t{0});
        std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
            return std::isnan(score[a]) ? !std::isnan(score[b]) : score[a] > score[b];
        });
        for (const int64_t i : order) {
            const auto drops = [&](int64_t k) { return overlap(x.data() + 4 * k, x.data() + 4 * i) > iou_threshold; };
            if (std::ranges::none_of(kept, drops)) kept.push_back(i);
        }
        const diopiTensorHandle_t made = make_output(ctx, Shape{static_cast<int64_t>(kept.size())}, Dtype::int64);
        Output<int64_t> y(made, "out");
        for (int64_t k = 0; k < y.numel(); ++k) y[k] = kept[static_cast<size_t>(k)];
        y.store();
        *out = made;
    });
}

}  // namespace

#include "kernels/entries/vision_regions.inc"

}  // namespace diopi::reference
