/// The tensors and parameters of hard cases of neural networks: convolutions, norms, pools, losses.
#include <algorithm>
#include <array>

#include "hard/draft.hpp"
#include "hard/image.hpp"

namespace diopi {

namespace {

/// Windows: kernel, stride, padding, dilation, each of height and width.
struct Window {
    std::array<int64_t, 2> kernel, stride, padding, dilation;

    /// How much of the input one window covers, in height or width.
    [[nodiscard]] int64_t reach(size_t side) const {
        return dilation[side] * (kernel[side] - 1) + 1 - 2 * padding[side];
    }
};

constexpr std::array<Window, kPatterns> kWindows = {{
    {{1, 1}, {1, 1}, {0, 0}, {1, 1}},
    {{3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {{3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {{2, 2}, {2, 2}, {0, 0}, {1, 1}},
    {{3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {{5, 1}, {3, 1}, {2, 0}, {1, 1}},
    {{1, 7}, {1, 2}, {0, 3}, {1, 1}},
    {{2, 3}, {1, 3}, {1, 1}, {3, 2}},
}};

/// The window of the pattern; in some cases with so much padding that the outer windows have nothing else, or with
/// strides of its own, which also a window of one element may have.
Window wide_window(const Draft& draft) {
    Window window = kWindows[draft.pattern()];
    const size_t numbers = draft.level(Factor::kNumbers) % 5;
    if (numbers == 3) window.stride = {2, 3};
    if (numbers != 4) return window;
    for (const size_t side : {0, 1}) window.padding[side] = window.dilation[side] * (window.kernel[side] - 1) + 1;
    return window;
}

/// A window of three sides is as deep as it is high.
void set_window(Draft& draft, const Window& window, size_t sides = 2) {
    const auto list = [&](const std::array<int64_t, 2>& numbers) {
        const Shape all{numbers[0], numbers[0], numbers[1]};
        return Shape(all.end() - static_cast<std::ptrdiff_t>(sides), all.end());
    };
    draft.set("kernel_size", list(window.kernel));
    draft.set("stride", list(window.stride));
    draft.set("padding", list(window.padding));
    if (draft.row().find("dilation") >= 0) draft.set("dilation", list(window.dilation));
}

bool fits(const Image& image, const Window& window, size_t sides = 2) {
    const int64_t height = sides > 2 ? std::min(image.depth, image.height) : image.height;
    return (sides == 1 || window.reach(0) <= height) && window.reach(1) <= image.width;
}

/// A convolution, or a transposed one, of as many sides as the images of its row have.
bool convolve(Draft& draft) {
    const Image image(draft);
    const Row& row = draft.row();
    const auto sides = static_cast<size_t>(row.args()[static_cast<size_t>(row.find("input"))].spatial_dims);
    const bool is_transposed = row.rule == ShapeRule::conv_transpose;
    const Window window = is_transposed ? kWindows[draft.pattern()] : wide_window(draft);
    if (!is_transposed && !fits(image, window, sides)) return false;
    // Groups: none, each channel alone, or two.
    const size_t other = draft.level(Factor::kOther);
    const int64_t groups = other == 1 ? image.channels : other == 2 && image.channels % 2 == 0 ? 2 : 1;
    const int64_t outputs = groups == 1 ? 5 : 2 * groups;
    Shape weight{outputs, image.channels / groups};
    if (is_transposed) weight = {image.channels, outputs / groups};
    if (sides > 2) weight.push_back(window.kernel[0]);
    weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
    draft.add("input", image.shape(sides));
    draft.add("weight", weight);
    draft.add("bias", {outputs});
    set_window(draft, window, sides);
    // The largest one that the steps in both directions allow.
    const auto least = [&](size_t side) { return std::max(window.stride[side], window.dilation[side]) - 1; };
    if (is_transposed) draft.set("output_padding", Shape(sides, std::min(least(0), least(1))));
    draft.set("groups", groups);
    return true;
}

bool pool_adaptively(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const size_t sides = draft.row().spatial_dims;
    const Shape sizes{2, 1 + p, p % 2 == 0 ? 1 : 7};
    draft.add("input", Image(draft).shape(sides));
    draft.set("output_size", Shape(sizes.end() - static_cast<std::ptrdiff_t>(sides), sizes.end()));
    if (draft.row().overload == "indices") draft.set_hint("return_indices", true);
    return true;
}

bool pool(Draft& draft) {
    const Image image(draft);
    const size_t sides = draft.row().spatial_dims, other = draft.level(Factor::kOther);
    const bool states_mode = draft.row().find("mode") >= 0, takes_mean = draft.row().find("dilation") < 0;
    const bool is_mean = takes_mean || (states_mode && draft.pattern() % 2 == 1);
    Window window = kWindows[draft.pattern()];
    if (is_mean) window.dilation = {1, 1};
    // Half of the kernel may be padding.
    const bool is_padded = 2 * window.padding[0] > window.kernel[0] || 2 * window.padding[1] > window.kernel[1];
    // No element of a window with wide steps may be inside the image: then there is no largest one.
    const bool may_miss = (window.padding[0] > 0 && window.dilation[0] > image.height) ||
                          (window.padding[1] > 0 && window.dilation[1] > image.width);
    if (is_padded || may_miss || !fits(image, window, sides)) return false;
    draft.set("ceil_mode", other == 1);
    set_window(draft, window, sides);
    if (is_mean) draft.set("count_include_pad", other != 2);
    if (draft.row().find("divisor_override") >= 0 && draft.pattern() == 2) draft.set("divisor_override", int64_t{-7});
    if (states_mode) {
        draft.set("mode", std::string(is_mean ? "avg" : "max"));
        draft.set("adaptive", other == 2);
        if (other == 2) return pool_adaptively(draft);
    }
    draft.add("input", image.shape(sides));
    if (draft.row().overload == "indices") draft.set_hint("return_indices", true);
    return true;
}

constexpr std::array<double, 4> kEpsilons = {1e-5, 1e-3, 1e-12, 1};

bool normalise_batch(Draft& draft) {
    const Image image(draft);
    const size_t p = draft.pattern();
    const bool trains = p % 2 == 0;
    Shape shape = image.shape();
    if (p / 2 == 1) shape = {image.samples, image.channels};
    if (p / 2 == 2) shape = {image.samples, image.channels, image.width};
    if (numel(shape) == 0) return false;
    const bool lacks_statistics = draft.level(Factor::kAbsent) == 1 || draft.level(Factor::kAbsent) >= 4;
    if (!trains && lacks_statistics) return false;
    draft.add("input", shape);
    draft.add("weight", {image.channels});
    draft.add("bias", {image.channels});
    draft.add("running_mean", {image.channels}, draft.dtype(), {Fill::kRandn});
    draft.add("running_var", {image.channels}, draft.dtype(), {Fill::kUniform, 0.5, 2});
    const std::vector<CaseTensor>& tensors = draft.made().tensors;
    const bool has_one = tensors.back().absent != (tensors.end() - 2)->absent;
    if (has_one) return false;  // the statistics are both there, or none
    constexpr std::array<double, 4> kMomenta = {0.1, 0.9, 0, 1};
    draft.set("training", trains);
    draft.set("momentum", kMomenta[p / 2]);
    draft.set("eps", kEpsilons[p / 2]);
    return true;
}

bool normalise_layer(Draft& draft) {
    const Shape shape = draft.shape(1);
    const size_t p = draft.pattern();
    const size_t count = std::min(shape.size(), 1 + p % 3);
    const Shape last(shape.end() - static_cast<std::ptrdiff_t>(count), shape.end());
    draft.add("input", shape);
    draft.add("weight", last);
    draft.add("bias", last);
    draft.set("normalized_shape", last);
    draft.set("eps", kEpsilons[p % 4]);
    return true;
}

bool lose(Draft& draft) {
    const size_t p = draft.pattern();
    const size_t form = draft.level(Factor::kForm);
    const bool is_wide = form % 2 == 0;
    const int64_t n = draft.size(33'000), classes = is_wide ? std::max<int64_t>(n, 1) : 10;
    const int64_t samples = is_wide ? 4 : draft.size(4'097);
    Shape input = {samples, classes}, target = {samples};
    if (p == 1) input = {classes}, target = {};
    if (p == 2) input = {2, classes, 3}, target = {2, 3};
    if (p == 3) input = {2, classes, 3, 2}, target = {2, 3, 2};
    const bool takes_probabilities = draft.row().find("label_smoothing") >= 0;
    const size_t numbers = draft.level(Factor::kNumbers);
    draft.add("input", input);
    if (takes_probabilities && p == 4) {
        draft.add("target", input, draft.dtype(), {Fill::kRand});
    } else {
        draft.add("target", target, Dtype::int64, {Fill::kRandint, 0, static_cast<double>(classes)});
        if (p == 5 || numbers == 3 || numbers == 4) draft.set("ignore_index", int64_t{0});
    }
    draft.add("weight", {classes}, draft.dtype(), {Fill::kUniform, 0.1, 2});
    constexpr const char* kReductions[] = {"mean", "sum", "none"};
    draft.set("reduction", std::string(kReductions[draft.level(Factor::kOther)]));
    if (p == 6 || numbers == 2 || numbers == 4) draft.set("label_smoothing", 0.1);
    return true;
}

/// Images to columns of windows.
bool unfold_image(Draft& draft) {
    const Image image(draft);
    const Window window = wide_window(draft);
    if (!fits(image, window)) return false;
    draft.add("input", image.shape());
    set_window(draft, window);
    return true;
}

/// Columns of windows to images.
bool fold_image(Draft& draft) {
    const Image image(draft);
    const Window window = wide_window(draft);
    if (!fits(image, window)) return false;
    Shape shape = image.shape();
    int64_t windows = 1;
    for (const size_t side : {0, 1}) {
        windows *= (shape[shape.size() - 2 + side] - window.reach(side)) / window.stride[side] + 1;
    }
    draft.set("output_size", Shape(shape.end() - 2, shape.end()));
    shape.pop_back();
    shape.back() = windows;
    shape[shape.size() - 2] *= window.kernel[0] * window.kernel[1];
    draft.add("input", shape);
    set_window(draft, window);
    return true;
}

/// Windows along one dim: next to each other, apart, overlapping, one of all elements, and empty ones.
bool unfold_dim(Draft& draft) {
    const Shape shape = draft.shape();
    const auto rank = std::ssize(shape);
    const size_t p = draft.pattern();
    const int64_t dim = rank == 0 ? 0 : static_cast<int64_t>(p) % rank;
    const int64_t length = rank == 0 ? 1 : shape[static_cast<size_t>(dim)];
    const int64_t sizes[kPatterns] = {1, 2, 3, length, 0, 5, 7, length / 2},
                  steps[kPatterns] = {1, 2, 1, 1, 1, 3, 9, 1};
    // Windows that overlap much have many times the elements of the tensor.
    constexpr int64_t kMostElements = 4'000'000;
    if (sizes[p] > length || numel(shape) * sizes[p] / steps[p] > kMostElements) return false;
    draft.add("input", shape);
    draft.set("dim", p % 2 == 0 || rank == 0 ? dim : dim - rank);
    draft.set("size", sizes[p]);
    draft.set("step", steps[p]);
    return true;
}

}  // namespace

bool shape_network_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::convolution:
        case ShapeRule::conv_transpose:
            return convolve(draft);
        case ShapeRule::im2col:
            return unfold_image(draft);
        case ShapeRule::col2im:
            return fold_image(draft);
        case ShapeRule::unfold:
            return unfold_dim(draft);
        case ShapeRule::pool:
            return pool(draft);
        case ShapeRule::adaptive_pool:
            return pool_adaptively(draft);
        case ShapeRule::batch_norm:
            return normalise_batch(draft);
        case ShapeRule::layer_norm:
            return normalise_layer(draft);
        case ShapeRule::nll_loss:
        case ShapeRule::cross_entropy:
            return lose(draft);
        default:
            return false;
    }
}

}  // namespace diopi
