/// The tensors and parameters of hard cases of images that are resized, sampled at points, or pooled in regions, and of
/// boxes. The values of points and boxes have a meaning, and are made here.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "hard/draft.hpp"
#include "hard/image.hpp"

namespace diopi {

namespace {

constexpr int64_t kMostResized = 2'000'000;
/// The longest side whose elements have coordinates that bfloat16 holds.
constexpr int64_t kLongestExact = 64;

/// Samples are a dim of their own here.
Image image_of(const Draft& draft) {
    Image image(draft);
    image.is_single = false;
    return image;
}

/// The sizes to which a side is resized: larger and smaller ones, by whole factors and others, one, and the same.
int64_t resized(int64_t size, size_t which) {
    const int64_t sizes[] = {2 * size, size + 1, std::max<int64_t>(size / 2, 1), 3, size, 7, 1, (3 * size + 1) / 2};
    return sizes[which % std::size(sizes)];
}

/// Whether positions of nearest elements are the same in float32 and float64, which libraries use.
bool is_certain(int64_t in, int64_t out) {
    const auto part = static_cast<float>(in) / static_cast<float>(out);
    const double exact = static_cast<double>(in) / static_cast<double>(out);
    for (int64_t i = 0; i < out; ++i) {
        const auto single = static_cast<int64_t>(std::floor(static_cast<float>(i) * part));
        if (single != static_cast<int64_t>(std::floor(static_cast<double>(i) * exact)) || single != i * in / out) {
            return false;
        }
    }
    return true;
}

bool resize(Draft& draft) {
    constexpr std::array<const char*, 4> kModes = {"bilinear", "linear", "bicubic", "trilinear"};
    constexpr std::array<size_t, 4> kSides = {2, 1, 2, 3};
    const Image image = image_of(draft);
    const size_t p = draft.pattern(), sides = kSides[p % 4];
    const bool is_nearest = draft.row().overload == "nearest";
    const Shape shape = image.shape(sides);
    Shape size(shape.begin() + 2, shape.end());
    for (size_t i = 0; i < sides; ++i) {
        const int64_t in = size[i];
        size[i] = resized(in, p + draft.level(Factor::kOther) + 3 * i);
        while (is_nearest && !is_certain(in, size[i])) ++size[i];
    }
    if (numel(size) * image.samples * image.channels > kMostResized) return false;
    draft.add("input", shape);
    draft.set("size", size);
    draft.set("align_corners", draft.level(Factor::kNumbers) % 2 == 1);
    draft.set_hint("mode", std::string(is_nearest ? "nearest" : kModes[p % 4]));
    return true;
}

/// A number from 0 to below `many`, another one for each place.
int64_t scattered(size_t at, int64_t many) {
    return static_cast<int64_t>((at * 2654435761U >> 7) % static_cast<uint64_t>(std::max<int64_t>(many, 1)));
}

/// Points on elements, halfway between two, on both edges and far away, along sides whose sizes are powers of two:
/// every dtype holds them.
std::vector<double> exact_points(const Shape& grid, ShapeView sizes, Dtype dtype) {
    const double far = dtype == Dtype::float16 ? 6e4 : 1e10;
    const int64_t sides = grid.back();
    std::vector<double> points;
    for (int64_t i = 0; i < numel(grid); ++i) {
        // The coordinate along the last side is the first one.
        const int64_t size = sizes[static_cast<size_t>(sides - 1 - i % sides)];
        const int64_t halves = scattered(static_cast<size_t>(i), 2 * size + 1);
        const bool is_far = scattered(static_cast<size_t>(i) + 7, 23) == 0;
        points.push_back(is_far ? (i % 2 == 0 ? far : -far)
                                : static_cast<double>(halves) / static_cast<double>(size) - 1);
    }
    return points;
}

bool sample_grid(Draft& draft) {
    Image image = image_of(draft);
    const bool is_exact = draft.level(Factor::kNumbers) % 3 == 2;
    if (is_exact) {
        for (int64_t* side : {&image.depth, &image.height, &image.width})
            *side = std::min(static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(*side))), kLongestExact);
    }
    const size_t p = draft.pattern(), sides = p % 4 < 2 ? 2 : 3;
    const std::string mode = p == 4 || p == 1 ? "bicubic" : p % 2 == 0 ? "bilinear" : "nearest";
    constexpr std::array<Shape::value_type, kPatterns> kPoints = {7, 33, 1, 5, 64, 100, 9, 2};
    Shape grid{image.samples, kPoints[p], 11};
    if (sides == 3) grid.push_back(3);
    grid.push_back(static_cast<int64_t>(sides));
    draft.add("input", image.shape(sides));
    // Some points are outside of the image. Where the coordinates are rounded, all are apart from its elements' edges.
    draft.add("grid", grid, draft.dtype(), is_exact ? FillSpec{Fill::kValue} : FillSpec{Fill::kUniform, -1.3, 1.3});
    if (is_exact) {
        const Shape shape = image.shape(sides);
        draft.made().tensors.back().values = exact_points(grid, ShapeView(shape).subspan(2), draft.dtype());
    }
    draft.set("mode", mode);
    return true;
}

/// Regions inside the image, across its edges and outside of it, in quarters of an element and an eighth, so that no
/// side is a whole number of bins.
bool align_regions(Draft& draft) {
    constexpr std::array<int64_t, kPatterns> kRegions = {3, 1, 17, 0, 5, 64, 2, 9},
                                             kHeights = {3, 1, 7, 2, 5, 14, 1, 4};
    constexpr std::array<int64_t, 4> kRatios = {-1, 1, 2, 0};
    const Image image = image_of(draft);
    const size_t p = draft.pattern();
    const int64_t regions = image.samples == 0 ? 0 : kRegions[p];
    draft.add("input", image.shape());
    draft.add("rois", {regions, 5}, draft.dtype(), {Fill::kValue});
    std::vector<double>& values = draft.made().tensors.back().values;
    for (int64_t k = 0; k < regions; ++k) {
        values.push_back(static_cast<double>(scattered(values.size(), image.samples)));
        for (size_t corner = 0; corner < 4; ++corner) {
            const int64_t side = std::min<int64_t>(corner % 2 == 0 ? image.width : image.height, 60);
            const auto quarters = static_cast<double>(scattered(values.size(), 4 * side + 24) - 8);
            values.push_back(quarters / 4 + (corner < 2 ? 0 : static_cast<double>(side) / 4 + 0.125));
        }
        // Some are smaller than an element.
        if (k % 4 != 3) continue;
        const size_t last = values.size() - 1;
        values[last - 1] = values[last - 3] + 0.375;
        values[last] = values[last - 2] + 0.625;
    }
    draft.set_hint("output_size", Shape{kHeights[p], kHeights[(p + 3) % kPatterns]});
    draft.set("spatial_scale", p % 3 == 0 ? 1.0 : p % 3 == 1 ? 0.5 : 0.0625);
    draft.set("sampling_ratio", kRatios[draft.level(Factor::kOther) % kRatios.size()]);
    draft.set("aligned", p >= 4);
    return true;
}

/// Whole numbers, whose overlaps are quotients of whole numbers, and thresholds that none of them is near; or that are
/// the overlap of each box with the next one, which is as wide and 2 or 4 times as high.
bool suppress(Draft& draft) {
    constexpr std::array<double, 4> kThresholds = {0.30901699, 0.5412061, 0.0713, 0.90071};
    const int64_t count = draft.size(1'025);
    const size_t p = draft.pattern();
    const bool is_exact = p >= kThresholds.size();
    const int64_t times = p % 2 == 0 ? 2 : 4;
    draft.add("boxes", {count, 4}, draft.dtype(), {Fill::kValue});
    std::vector<double>& values = draft.made().tensors.back().values;
    for (int64_t i = 0; i < count; ++i) {
        if (is_exact && i % 2 == 1) {
            const auto last = static_cast<std::ptrdiff_t>(values.size()) - 4;
            const std::array<double, 4> box = {values[last], values[last + 1], values[last + 2], values[last + 3]};
            values.insert(values.end(), {box[0], box[1], box[2], box[1] + times * (box[3] - box[1])});
            continue;
        }
        const int64_t x = scattered(values.size(), 40), y = scattered(values.size() + 1, 30);
        for (const int64_t corner :
             {x, y, x + scattered(values.size() + 2, 25), y + scattered(values.size() + 3, 31)}) {
            values.push_back(static_cast<double>(corner));
        }
    }
    draft.add("confidence", {count});
    draft.set("iou_threshold", is_exact ? 1.0 / static_cast<double>(times) : kThresholds[p]);
    return true;
}

}  // namespace

bool shape_vision_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::resize:
            return resize(draft);
        case ShapeRule::grid_sample:
            return sample_grid(draft);
        case ShapeRule::roi_align:
            return align_regions(draft);
        case ShapeRule::nms:
            return suppress(draft);
        default:
            return false;
    }
}

}  // namespace diopi
