/// The tensors and parameters of hard cases of norms but batch and layer norm.
#include <algorithm>
#include <array>
#include <cmath>

#include "hard/draft.hpp"

namespace diopi {

namespace {

constexpr std::array<double, 4> kAddends = {1e-5, 1e-3, 1e-12, 1};

/// (N, C, ...) whose samples, channels or last dim have the boundary's size.
Shape with_channels(const Draft& draft) {
    switch (draft.level(Factor::kForm)) {
        case 0:
            return {2, 6, 3, draft.size(2'000)};
        case 1:
            return {2, std::max<int64_t>(draft.size(257), 1), 3, 5};
        case 2:
            return {draft.size(129), 6, 2, 3};
        case 3:
            return {2, 6, draft.size(33'000)};
        case 4:
            return {2, 4, 3, 2, draft.size(129)};
        case 5:
            return {3, std::max<int64_t>(draft.size(257), 1), 2};
        default:
            return {draft.size(129), 12, 1};
    }
}

/// The parameters of each channel, which normalise it to about mean 0 and variance 1 where they are statistics.
void add_parameters(Draft& draft, int64_t channels) {
    for (const Arg& arg : draft.row().args()) {
        if (arg.is_output || !arg.is_tensor() || arg.name == "input" || arg.name == "grad_out") continue;
        if (arg.name == "count")
            draft.add(arg.name, {2}, Dtype::int32, {Fill::kRandint, 4, 90});
        else if (arg.name == "invstd")
            draft.add(arg.name, {channels}, draft.dtype(), {Fill::kUniform, 0.5, 2});
        else
            draft.add(arg.name, {channels});
    }
}

bool normalise_groups(Draft& draft) {
    Shape shape = with_channels(draft);
    if (draft.level(Factor::kForm) == 7) shape.pop_back();
    const size_t p = draft.pattern();
    const std::array<int64_t, 4> groups = {1, shape[1], 2, 3};
    if (shape[1] % groups[p / 2] != 0) return false;
    draft.add("input", shape);
    draft.add("weight", {shape[1]});
    draft.add("bias", {shape[1]});
    draft.set("num_groups", groups[p / 2]);
    draft.set("eps", kAddends[p % 4]);
    return true;
}

/// A function with one number for each channel beside the tensors with all elements.
bool map_channels(Draft& draft) {
    const Shape shape = with_channels(draft);
    if (numel(shape) == 0) return false;
    draft.add("input", shape);
    draft.add("grad_out", shape);
    add_parameters(draft, shape[1]);
    const size_t p = draft.pattern();
    for (const char* flag : {"input_g", "weight_g", "bias_g"}) {
        draft.set(flag, flag[0] == 'i' ? p % 2 == 0 : flag[0] == 'w' ? p % 3 != 1 : p % 4 != 2);
    }
    draft.set("eps", kAddends[p % 4]);
    return true;
}

bool find_statistics(Draft& draft) {
    if (draft.row().find("mean_all") < 0) return map_channels(draft);
    const int64_t channels = std::max<int64_t>(draft.size(2'000), 1), workers = draft.level(Factor::kForm) + 1;
    draft.add("input", {2, channels});
    draft.add("mean_all", {workers, channels});
    draft.add("invstd_all", {workers, channels}, draft.dtype(), {Fill::kUniform, 0.5, 2});
    draft.add("running_mean", {channels});
    draft.add("running_var", {channels}, draft.dtype(), {Fill::kUniform, 0.5, 2});
    draft.add("counts", {workers}, draft.dtype(), {Fill::kRandint, 4, 90});
    draft.set("eps", kAddends[draft.pattern() % 4]);
    return true;
}

bool normalise_from_axis(Draft& draft) {
    const Shape shape = draft.shape(1);
    const size_t p = draft.pattern(), count = std::min(shape.size(), 1 + p % 3);
    const Shape last(shape.end() - static_cast<std::ptrdiff_t>(count), shape.end());
    draft.add("input", shape);
    draft.add("weight", last);
    draft.add("bias", last);
    draft.set("begin_norm_axis", static_cast<int64_t>(shape.size() - count));
    draft.set("eps", kAddends[p % 4]);
    return true;
}

bool normalise_vectors(Draft& draft) {
    const Shape shape = draft.shape(1);
    const size_t p = draft.pattern();
    constexpr std::array<double, kPatterns> kPowers = {2, 1, 3, 0.5, HUGE_VAL, -HUGE_VAL, 0, -1};
    const auto rank = static_cast<int64_t>(shape.size());
    draft.add("input", shape);
    draft.set("p", kPowers[p]);
    draft.set("axis", p % 2 == 0 ? rank - 1 : -rank);
    draft.set("eps", kAddends[p % 4]);
    return true;
}

}  // namespace

bool shape_norm_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::group_norm:
            return normalise_groups(draft);
        case ShapeRule::instance_norm:
        case ShapeRule::channel_sums:
        case ShapeRule::channel_map:
            return map_channels(draft);
        case ShapeRule::channel_statistics:
            return find_statistics(draft);
        case ShapeRule::layer_norm_axis:
            return normalise_from_axis(draft);
        case ShapeRule::normalize:
            return normalise_vectors(draft);
        default:
            return false;
    }
}

}  // namespace diopi
