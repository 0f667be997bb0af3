/// Regions of images, pooled by means of samples, and boxes of which those that overlap better ones are dropped.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/cpu/onednn_staging.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cpu/vision_taps.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/shape_order.hpp"
#include "kernels/operands/vision.hpp"

namespace diopi::cpu {

namespace {

/// The arguments that are not tensors.
struct RegionOptions {
    double spatial_scale;
    int64_t sampling_ratio;
    bool aligned;
};

/// The samples of a bin that may be inside of a side. A large region has many others.
struct SampleRange {
    double first = 0;
    int64_t count = 0;

    SampleRange(double base, double step, double samples, int64_t size) {
        if (!(samples > 0) || !std::isfinite(base) || !std::isfinite(step)) return;
        // One more at both ends, for roundings. Only a stated number of samples may go backwards.
        const double from = step > 0 ? std::floor((-1 - base) / step) - 2 : 0;
        const double to = step > 0 ? std::ceil((static_cast<double>(size) - base) / step) + 2 : samples;
        first = std::clamp(from, 0.0, samples);
        count = static_cast<int64_t>(std::clamp(to, first, samples) - first);
    }
};

/// Means of the samples of each bin, linear between elements: along one side, for the mean over a bin is one over its
/// rows of samples of those over its columns. The first and the last element reach one element further.
template <class T>
Taps<T> side_taps(T low, T high, const RegionOptions& options, int64_t bins, int64_t size) {
    const T scale = static_cast<T>(options.spatial_scale), offset = options.aligned ? T(0.5) : T{0};
    const T start = low * scale - offset, reach = high * scale - offset - start;
    const T bin = (options.aligned ? reach : std::max(reach, T{1})) / static_cast<T>(bins);
    const T samples = options.sampling_ratio > 0 ? static_cast<T>(options.sampling_ratio) : std::ceil(bin);
    const T last = static_cast<T>(size - 1);
    Taps<T> taps;
    for (int64_t b = 0; b < bins; ++b) {
        const size_t own = taps.weight.size();
        const T base = start + static_cast<T>(b) * bin;
        const SampleRange range(base, bin / samples, samples, size);
        for (int64_t k = 0; k < range.count; ++k) {
            const T i = static_cast<T>(range.first + static_cast<double>(k));
            const T position = base + (i + T(0.5)) * bin / samples;
            if (position >= -1 && position <= last + 1) taps.add_linear(std::clamp(position, T{0}, last), size);
        }
        for (size_t k = own; k < taps.weight.size(); ++k) taps.weight[k] /= samples;
        taps.next();
    }
    return taps;
}

/// Planes of one image and the means of one region of them, or the gradient from these to those.
template <class T>
Resample<T> resample_of(const T* region, const RegionOptions& options, ShapeView image, ShapeView pooled,
                        bool is_backward) {
    Resample<T> r{1, {1, image[2], image[3]}, {1, pooled[2], pooled[3]}, {}};
    r.taps[0].add(0, T{1});
    r.taps[0].next();
    r.taps[1] = side_taps(region[2], region[4], options, pooled[2], image[2]);
    r.taps[2] = side_taps(region[1], region[3], options, pooled[3], image[3]);
    if (is_backward) {
        std::swap(r.in, r.out);
        for (size_t d : {1, 2}) r.taps[d] = r.taps[d].transposed(image[d + 1]);
        r.adds = true;
    }
    r.narrow();
    return r;
}

/// The numbers of the regions' images; refuses those of other images.
template <class T>
diopiError_t read_images(std::string_view op, const T* rois, int64_t regions, int64_t images,
                         std::vector<int64_t>& numbers) {
    for (int64_t k = 0; k < regions; ++k) {
        const T image = rois[5 * k];
        if (!(image >= 0 && image < static_cast<T>(images))) {
            return refuse(op, "rois names image " + std::to_string(image) + " of " + std::to_string(images));
        }
        numbers.push_back(static_cast<int64_t>(image));
    }
    return diopiSuccess;
}

template <class T>
diopiError_t align(diopiContextHandle_t ctx, std::string_view op, const View& image, const View& rois,
                   const View& pooled, const RegionOptions& options, bool is_backward) {
    Staging regions_staging(ctx);
    const auto* regions = regions_staging.in<T>(rois);
    if (regions_staging.error() != diopiSuccess) return regions_staging.error();
    std::vector<int64_t> images;
    const diopiError_t error = read_images(op, regions, rois.shape[0], image.shape[0], images);
    if (error != diopiSuccess) return error;
    Staging staging(ctx);
    const auto* from = staging.in<T>(is_backward ? pooled : image);
    auto* to = staging.out<T>(is_backward ? image : pooled);
    if (staging.error() != diopiSuccess) return staging.error();
    const int64_t count = rois.shape[0], area = image.shape[1] * image.shape[2] * image.shape[3];
    const int64_t bins = pooled.shape[1] * pooled.shape[2] * pooled.shape[3];
    const auto resample_region = [&](int64_t k) {
        const Resample<T> r = resample_of(regions + 5 * k, options, image.shape, pooled.shape, is_backward);
        const int64_t plane = images[static_cast<size_t>(k)] * area;
        resample(r, image.shape[1], from + (is_backward ? k * bins : plane), to + (is_backward ? plane : k * bins));
    };
    if (is_backward) {
        // Regions of one image add to the same elements: their order is fixed, and the planes have the threads.
        std::fill_n(to, image.numel, T{0});
        for (int64_t k = 0; k < count; ++k) resample_region(k);
    } else {
        parallel_for(count, bins * 16, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) resample_region(k);
        });
    }
    return staging.finish();
}

diopiError_t align(diopiContextHandle_t ctx, std::string_view op, const View& image, const View& rois,
                   const View& pooled, const RegionOptions& options, bool is_backward) {
    if ((is_backward ? image : pooled).numel == 0) return diopiSuccess;
    if (pooled.numel == 0) {
        fill(image, {diopi_dtype_float64, {0}});
        return diopiSuccess;
    }
    const bool is_double = image.dtype == Dtype::float64 || pooled.dtype == Dtype::float64;
    return (is_double ? align<double> : align<float>)(ctx, op, image, rois, pooled, options, is_backward);
}

diopiError_t roi_align(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, diopiConstTensorHandle_t rois, double spatial_scale,
                       int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio, bool aligned) {
    const View x = view(input), regions = view(rois), y = view(out);
    const diopiError_t error = read_regions(op, {"input", "out"}, x, regions, y, pooled_height, pooled_width);
    if (error != diopiSuccess) return error;
    return align(ctx, op, x, regions, y, {spatial_scale, sampling_ratio, aligned}, false);
}

diopiError_t roi_align_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                diopiConstTensorHandle_t grad, diopiConstTensorHandle_t rois, double spatial_scale,
                                int64_t pooled_height, int64_t pooled_width, int64_t batch_size, int64_t channels,
                                int64_t height, int64_t width, int64_t sampling_ratio, bool aligned) {
    const View gx = view(out), regions = view(rois), g = view(grad);
    diopiError_t error = check_shape(op, "out", gx, Shape{batch_size, channels, height, width});
    if (error == diopiSuccess) error = read_regions(op, {"out", "grad"}, gx, regions, g, pooled_height, pooled_width);
    if (error != diopiSuccess) return error;
    return align(ctx, op, gx, regions, g, {spatial_scale, sampling_ratio, aligned}, true);
}

/// A box (x1, y1, x2, y2).
template <class T>
struct Box {
    T x1, y1, x2, y2;

    [[nodiscard]] T area() const { return (x2 - x1) * (y2 - y1); }
    /// Intersection over union.
    [[nodiscard]] T overlap(const Box& b) const {
        const T width = std::max(std::min(x2, b.x2) - std::max(x1, b.x1), T{0});
        const T height = std::max(std::min(y2, b.y2) - std::max(y1, b.y1), T{0});
        return width * height / (area() + b.area() - width * height);
    }
};

/// The boxes that stay, the best one first: of equal ones the first is the best, and NaN is better than any number.
template <class T>
std::vector<int64_t> kept_boxes(const Box<T>* boxes, const T* score, int64_t count, double threshold) {
    std::vector<int64_t> order(static_cast<size_t>(count)), kept;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        return std::isnan(score[a]) ? !std::isnan(score[b]) : score[a] > score[b];
    });
    std::vector<Box<T>> better;
    for (const int64_t i : order) {
        const auto drops = [&](const Box<T>& box) { return static_cast<double>(box.overlap(boxes[i])) > threshold; };
        if (std::ranges::any_of(better, drops)) continue;
        better.push_back(boxes[i]);
        kept.push_back(i);
    }
    return kept;
}

template <class T>
diopiError_t run_nms(diopiContextHandle_t ctx, const View& boxes, const View& confidence, double threshold,
                     std::vector<int64_t>& kept) {
    Staging staging(ctx);
    const auto* corners = staging.in<T>(boxes);
    const auto* scores = staging.in<T>(confidence);
    if (staging.error() != diopiSuccess) return staging.error();
    kept = kept_boxes(reinterpret_cast<const Box<T>*>(corners), scores, boxes.shape[0], threshold);
    return staging.finish();
}

diopiError_t nms(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t* out,
                 diopiConstTensorHandle_t boxes, diopiConstTensorHandle_t confidence, double iou_threshold) {
    const View x = view(boxes), score = view(confidence);
    std::vector<int64_t> kept;
    diopiError_t error = read_boxes(op, x, score);
    if (error == diopiSuccess && score.numel > 0) {
        const bool is_double = x.dtype == Dtype::float64 || score.dtype == Dtype::float64;
        error = (is_double ? run_nms<double> : run_nms<float>)(ctx, x, score, iou_threshold, kept);
    }
    diopiTensorHandle_t made = nullptr;
    if (error == diopiSuccess) error = make_output(ctx, Shape{std::ssize(kept)}, Dtype::int64, {}, made);
    if (error != diopiSuccess) return error;
    std::ranges::copy(kept, view(made).as<int64_t>());
    *out = made;
    return diopiSuccess;
}

}  // namespace

#include "kernels/entries/vision_regions.inc"

}  // namespace diopi::cpu
