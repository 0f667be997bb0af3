/// The tensors and parameters of hard cases that join, cut, turn, pad and repeat tensors.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <string>

#include "hard/draft.hpp"

namespace diopi {

namespace {

int64_t length_of(const Shape& shape) { return static_cast<int64_t>(shape.size()); }

/// A dim by the pattern, from the front or from the back.
int64_t some_dim(int64_t p, int64_t rank) { return p % 2 == 0 ? p % rank : -1 - p % rank; }

size_t from_front(int64_t dim, const Shape& shape) {
    return static_cast<size_t>(dim < 0 ? dim + length_of(shape) : dim);
}

/// A list of several tensors of these shapes.
bool stack(Draft& draft) {
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    const size_t many = numel(shape) <= 4'096 ? 67 : 3;
    draft.add_list("tensors", std::vector<Shape>(p == 7 ? many : static_cast<size_t>(1 + p % 5), shape));
    draft.set("dim", some_dim(p, length_of(shape) + 1));
    return true;
}

bool split(Draft& draft) {
    const Shape shape = draft.shape(1);
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t dim = some_dim(p, length_of(shape)), size = shape[from_front(dim, shape)];
    draft.add("input", shape);
    const Shape lists[] = {
        {size}, {size / 2, size - size / 2}, {0, size}, {size / 3, 0, size - size / 3 - size / 4, size / 4}};
    if (p < 4)
        draft.set("splitSizes", lists[p]);
    else
        draft.set("splitSizes", std::max<int64_t>(size / (p - 2), 1));
    draft.set("dim", dim);
    return true;
}

bool meshgrid(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t n = draft.size(3'000);
    const std::vector<Shape> lists[] = {{{n}},     {{n}, {5}},     {{5}, {n}},           {{n}, {3}, {n}},
                                        {{n}, {}}, {{}, {3}, {n}}, {{2}, {3}, {1}, {n}}, {{}}};
    draft.add_list("inputs", lists[p]);
    return true;
}

bool permute(Draft& draft) {
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t rank = length_of(shape), some = std::max<int64_t>(rank, 1);
    draft.add("input", shape);
    if (draft.row().find("dims") < 0) {
        draft.set("dim0", some_dim(p, some));
        draft.set("dim1", some_dim(p / 2 + 1, some));
        return true;
    }
    Shape order(shape.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::rotate(order.begin(), order.begin() + (rank == 0 ? 0 : p % rank), order.end());
    if (p >= 4) std::ranges::reverse(order);
    if (p % 2 == 1) std::ranges::transform(order, order.begin(), [&](int64_t d) { return d - rank; });
    draft.set("dims", order);
    return true;
}

bool roll(Draft& draft) {
    // Two are beyond 32 bits.
    constexpr std::array<int64_t, 10> kShifts = {
        1, -1, 3, 0, 1000, -17, 2, (int64_t{1} << 32) + 3, 5, -(int64_t{1} << 40) - 1};
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t rank = std::max<int64_t>(length_of(shape), 1), shift = kShifts[draft.level(Factor::kNumbers)];
    draft.add("input", shape);
    if (p == 0 || p == 4 || shape.empty()) {
        draft.set("shifts", Shape{shift});
    } else if (p % 2 == 0) {
        draft.set("shifts", Shape{shift, -2});
        // In some cases the last dim twice: the shifts add up.
        draft.set("dims", Shape{p == 6 ? rank - 1 : some_dim(p, rank), -1});
    } else {
        draft.set("shifts", Shape{shift});
        draft.set("dims", Shape{some_dim(p, rank)});
    }
    return true;
}

bool pad(Draft& draft) {
    constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
    const auto p = static_cast<int64_t>(draft.pattern());
    const std::string mode = kModes[p % 4];
    const Shape shape = draft.shape(mode == "constant" ? 0 : 2);
    Shape pads = p < 4 ? Shape{1, 2} : Shape{3, 0};
    const size_t other = draft.level(Factor::kOther);
    if (other == 1 && !shape.empty() && shape.back() > 2) pads[0] = -1;
    if (other == 2 && !shape.empty() && shape.back() > 4) pads[1] = -2;
    // PyTorch pads one dim of 2 or 3, and two of 4, from the elements themselves.
    const bool pads_two = mode == "constant" ? shape.size() >= 2 && p == 4 : shape.size() == 4;
    if (pads_two) pads.insert(pads.end(), {2, 1});
    if (shape.empty()) pads.clear();
    if (mode != "constant" && (shape.size() > 4 || numel(shape) == 0)) return false;
    draft.add("input", shape);
    draft.set("pad", pads);
    draft.set("mode", mode);
    const bool is_real = is_floating(draft.dtype()) || is_complex(draft.dtype());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kReals[] = {-2.5, 0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
    // Integers drop the fraction; every number but 0 is true.
    constexpr double kWholes[] = {3, 2.75, 0.5, 0, 3}, kTruths[] = {3, 256, 0.5, 0, 1};
    const auto& values = is_real ? kReals : draft.dtype() == Dtype::boolean ? kTruths : kWholes;
    const double value = values[draft.level(Factor::kNumbers) % std::size(values)];
    if (mode == "constant" && draft.level(Factor::kAbsent) != 1) draft.set("value", value);
    return true;
}

bool repeat(Draft& draft) {
    const Shape shape = draft.shape();
    const auto p = static_cast<int64_t>(draft.pattern());
    Shape repeats(shape.size(), 1);
    if (numel(shape) > 200'000 && p % 4 == 3) return false;
    if (!repeats.empty() && p % 4 >= 1) repeats.back() = 1 + p % 4;
    if (repeats.size() >= 2 && p % 4 >= 2) repeats.front() = 2;
    if (p >= 4) repeats.insert(repeats.begin(), p == 7 ? 2 : 3);
    draft.add("input", shape);
    draft.set("repeats_size", repeats);
    return true;
}

bool one_hot(Draft& draft) {
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t classes = 1 + p * p * 11;
    Shape shape = draft.shape();
    if (numel(shape) * classes > 4'000'000) return false;
    const bool counts = p % 2 == 1 && numel(shape) > 0;
    draft.add("input", std::move(shape), Dtype::int64, {Fill::kRandint, 0, static_cast<double>(classes)});
    draft.set("num_classes", counts ? int64_t{-1} : classes);
    return true;
}

bool contiguous(Draft& draft) {
    const Shape shape = draft.shape();
    constexpr std::array<const char*, 3> kOfImages = {"channels_last_1d", "channels_last", "channels_last_3d"};
    const bool is_image = shape.size() >= 3 && shape.size() - 3 < kOfImages.size();
    draft.add("input", shape);
    const char* format = is_image && draft.pattern() % 2 == 1 ? kOfImages[shape.size() - 3] : "contiguous";
    draft.set("memoryFormat", std::string(format));
    return true;
}

bool linspace(Draft& draft) {
    const bool is_whole = is_integer(draft.dtype());
    if (!is_whole && !is_floating(draft.dtype())) return false;
    constexpr std::array<double, 8> kStarts = {0, 1.5, 4, 100, -0.25, 7, 1e-3, 5},
                                    kEnds = {1, -2.5, 4, 0, 77.5, 7.75, 10, 5};
    const size_t p = draft.pattern();
    draft.set_hint("dtype", std::string(name(draft.dtype())));
    draft.set("start", is_unsigned(draft.dtype()) ? std::fabs(kStarts[p]) : kStarts[p]);
    draft.set("end", is_unsigned(draft.dtype()) ? std::fabs(kEnds[p]) : kEnds[p]);
    draft.set("steps", draft.size(is_whole ? 1'000 : 70'000));
    return true;
}

}  // namespace

bool shape_order_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::stack:
            return stack(draft);
        case ShapeRule::split:
            return split(draft);
        case ShapeRule::meshgrid:
            return meshgrid(draft);
        case ShapeRule::permute:
            return permute(draft);
        case ShapeRule::roll:
            return roll(draft);
        case ShapeRule::pad:
            return pad(draft);
        case ShapeRule::repeat:
            return repeat(draft);
        case ShapeRule::one_hot:
            return one_hot(draft);
        case ShapeRule::contiguous:
            return contiguous(draft);
        case ShapeRule::linspace:
            return linspace(draft);
        default:
            return false;
    }
}

}  // namespace diopi
