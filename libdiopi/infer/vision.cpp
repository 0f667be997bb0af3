#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/convert.hpp"
#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The elements of a host tensor; empty where they are not at hand.
std::vector<double> elements_of(const Tensor& tensor) {
    if (tensor.data() == nullptr || tensor.storage.device != diopi_host) return {};
    std::vector<double> elements(static_cast<size_t>(tensor.numel()));
    Tensor wide;
    wide.shape = tensor.shape;
    wide.strides = contiguous_strides(tensor.shape);
    wide.dtype = Dtype::float64;
    wide.storage = {std::shared_ptr<void>(elements.data(), [](void*) {}), elements.size() * sizeof(double)};
    widen(tensor, wide);
    return elements;
}

/// Intersection over union of two boxes (x1, y1, x2, y2).
double overlap(const double* a, const double* b) {
    const auto side = [&](size_t low) {
        return std::max(std::min(a[low + 2], b[low + 2]) - std::max(a[low], b[low]), 0.0);
    };
    const auto area = [](const double* box) { return (box[2] - box[0]) * (box[3] - box[1]); };
    const double shared = side(0) * side(1);
    return shared / (area(a) + area(b) - shared);
}

/// The number of boxes that are kept.
int64_t count_kept(const std::vector<double>& boxes, const std::vector<double>& scores, double threshold) {
    std::vector<size_t> order(scores.size()), kept;
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) {
        return std::isnan(scores[a]) ? !std::isnan(scores[b]) : scores[a] > scores[b];
    });
    for (const size_t i : order) {
        const auto suppresses = [&](size_t k) { return overlap(&boxes[4 * k], &boxes[4 * i]) > threshold; };
        if (std::ranges::none_of(kept, suppresses)) kept.push_back(i);
    }
    return std::ssize(kept);
}

/// The sides of the images that a mode resizes; -1: it resizes none.
int64_t sides_of_mode(std::string_view mode) {
    if (mode == "linear") return 1;
    if (mode == "bilinear" || mode == "bicubic") return 2;
    return mode == "trilinear" ? 3 : -1;
}

}  // namespace

/// Source: torchvision.ops.nms. Where the values are not at hand, all boxes may be kept.
Specs nms(Call& call, const ResultHints&) {
    const Tensor &boxes = *call.tensor("boxes"), &scores = *call.tensor("confidence");
    if (boxes.rank() != 2 || boxes.shape[1] != 4 || scores.shape != Shape{boxes.shape[0]}) {
        return contradiction(call, "boxes " + to_string(boxes.shape) + " must be (N, 4) and confidence " +
                                       to_string(scores.shape) + " (N)");
    }
    if (boxes.dtype != scores.dtype) return contradiction(call, "boxes and confidence must have one dtype");
    const std::vector<double> corners = elements_of(boxes), order = elements_of(scores);
    const bool is_known = !corners.empty() && !order.empty();
    const double threshold = std::get<double>(call["iou_threshold"]);
    return one(call, "out", {{is_known ? count_kept(corners, order, threshold) : boxes.shape[0]}, Dtype::int64, {}});
}

/// Source: torchvision.ops.roi_align.
Specs roi_align(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &rois = *call.tensor("rois");
    if (input.rank() != 4 || rois.rank() != 2 || rois.shape[1] != 5 || rois.dtype != input.dtype) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, H, W) and boxes " +
                                       to_string(rois.shape) + " (K, 5) of its dtype");
    }
    const int64_t height = call.integer("pooled_height"), width = call.integer("pooled_width");
    if (height < 1 || width < 1) return contradiction(call, "the sides of output_size must be positive");
    return one(call, "out", {{rois.shape[0], input.shape[1], height, width}, input.dtype, {}});
}

/// Source: torch.nn.functional.grid_sample.
Specs grid_sample(Call& call, const ResultHints&) {
    const Tensor &input = *call.tensor("input"), &grid = *call.tensor("grid");
    const int64_t sides = input.rank() - 2;
    const bool fits = (sides == 2 || sides == 3) && grid.rank() == input.rank() && grid.shape.back() == sides &&
                      grid.shape[0] == input.shape[0] && grid.dtype == input.dtype;
    if (!fits || numel({input.shape.begin() + 2, input.shape.end()}) == 0) {
        return contradiction(call, "input " + to_string(input.shape) +
                                       " must be (N, C, *) with two or three sides, grid " + to_string(grid.shape) +
                                       " (N, *, sides) of its dtype");
    }
    const auto& mode = std::get<std::string>(call["mode"]);
    if (mode != "bilinear" && mode != "nearest" && !(mode == "bicubic" && sides == 2)) {
        return contradiction(call, "mode is '" + mode + "', wanted bilinear, nearest, or bicubic for two sides");
    }
    Shape shape(grid.shape.begin(), grid.shape.end() - 1);
    shape.insert(shape.begin() + 1, input.shape[1]);
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

/// Source: torch.nn.functional.interpolate.
Specs resize(Call& call, const ResultHints&) {
    const Tensor& input = *call.tensor("input");
    const int64_t sides = input.rank() - 2;
    const auto* mode = call.has("mode") ? std::get_if<std::string>(&call["mode"]) : nullptr;
    if (sides < 1 || sides > 3 || (mode != nullptr && sides_of_mode(*mode) != sides)) {
        return contradiction(call, "input " + to_string(input.shape) + " must be (N, C, *) with one to three sides" +
                                       (mode == nullptr ? "" : ", as many as mode " + *mode + " is for"));
    }
    if (Status s = spread(call, "size", static_cast<size_t>(sides)); !s.ok()) return s.error();
    const IntList& size = *call.ints("size");
    Shape shape(input.shape.begin(), input.shape.begin() + 2);
    shape.insert(shape.end(), size.begin(), size.end());
    const auto is_empty = [](int64_t side) { return side < 1; };
    if (std::any_of(input.shape.begin() + 2, input.shape.end(), is_empty) || std::ranges::any_of(size, is_empty)) {
        return contradiction(call, "the sides of input " + to_string(input.shape) + " and of out " + to_string(shape) +
                                       " must be positive");
    }
    return one(call, "out", {std::move(shape), input.dtype, {}});
}

}  // namespace diopi::infer_rules
