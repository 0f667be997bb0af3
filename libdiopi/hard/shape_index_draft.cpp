/// The tensors and parameters of hard cases of slices, index tensors and masks. Indices are in range; several of one
/// call may name the same element.
#include <algorithm>
#include <array>
#include <string>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// A dim of the draft's shape, by the pattern.
struct Along {
    Shape shape;
    int64_t p, dim, size;

    explicit Along(const Draft& draft, size_t least_rank = 1)
        : shape(draft.shape(least_rank)), p(static_cast<int64_t>(draft.pattern())) {
        const auto rank = std::max<int64_t>(static_cast<int64_t>(shape.size()), 1);
        dim = p % 2 == 0 ? p % rank : -1 - p % rank;
        size = shape.empty() ? 1 : shape[at()];
    }
    [[nodiscard]] size_t at() const {
        return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
    }
};

FillSpec numbers(int64_t low, int64_t size) {
    return {Fill::kRandint, static_cast<double>(low), static_cast<double>(size)};
}

bool select(Draft& draft) {
    const Along a(draft);
    if (a.size == 0) return false;
    draft.add("input", a.shape);
    Shape part = a.shape;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(a.at()));
    draft.add("src", part);
    draft.set("dim", a.dim);
    draft.set("index", a.p % 3 == 0 ? a.p % a.size : -1 - a.p % a.size);
    return true;
}

bool slice(Draft& draft) {
    constexpr std::array<std::array<int64_t, 3>, 8> kSlices = {{{0, 1000, 1},
                                                                {1, -1, 1},
                                                                {0, 7, 2},
                                                                {-3, 1'000'000'000, 1},
                                                                {2, 2, 1},
                                                                {-100, 100, 3},
                                                                {1, 64, 7},
                                                                {5, 2, 1}}};
    const Along a(draft);
    const auto& [start, end, step] = kSlices[static_cast<size_t>(a.p)];
    draft.add("input", a.shape);
    const auto from_front = [&](int64_t at) { return at < 0 ? at + a.size : at; };
    const int64_t first = std::clamp(from_front(start), int64_t{0}, a.size);
    Shape part = a.shape;
    part[a.at()] = (std::clamp(from_front(end), first, a.size) - first + step - 1) / step;
    draft.add("src", part);
    draft.set("dim", a.dim);
    draft.set("start", start);
    draft.set("end", end);
    draft.set("step", step);
    return true;
}

bool index_select(Draft& draft) {
    constexpr std::array<int64_t, 8> kCounts = {7, 1, 33, 0, 100, 3, 64, 9};
    const Along a(draft);
    const int64_t count = a.size == 0 || numel(a.shape) / std::max<int64_t>(a.size, 1) > 20'000
                              ? std::min<int64_t>(a.size, 2)
                              : kCounts[static_cast<size_t>(a.p)];
    draft.add("input", a.shape);
    draft.add("index", a.p == 1 && count == 1 ? Shape{} : Shape{count}, a.p % 2 == 0 ? Dtype::int64 : Dtype::int32,
              numbers(0, std::max<int64_t>(a.size, 1)));
    draft.set("dim", a.dim);
    return true;
}

bool index_fill(Draft& draft) {
    constexpr std::array<int64_t, 8> kCounts = {7, 1, 33, 0, 100, 3, 2, 9};
    const Along a(draft, 0);
    draft.add("input", a.shape);
    const int64_t count = a.size == 0 ? 0 : kCounts[static_cast<size_t>(a.p)];
    draft.add("index", a.p == 1 && count == 1 ? Shape{} : Shape{count}, Dtype::int64,
              numbers(-std::max<int64_t>(a.size, 1), std::max<int64_t>(a.size, 1)));
    draft.add("value", {}, draft.dtype(), {draft.dtype() == Dtype::boolean ? Fill::kMask : Fill::kRandn});
    draft.set("dim", a.dim);
    return true;
}

/// An index that is smaller than the shape in some dims, and of another size along the dim.
Shape index_shape(const Along& a) {
    Shape shape = a.shape;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (d != a.at() && a.p % 4 == 2) shape[d] = (shape[d] + 1) / 2;
    }
    if (!shape.empty() && a.p % 4 == 1) shape[a.at()] = 1;
    if (!shape.empty() && a.p % 4 == 3 && a.size > 0 && numel(shape) < 100'000) shape[a.at()] = a.size + 5;
    if (a.size == 0 && !shape.empty()) shape[a.at()] = 0;
    return shape;
}

bool gather(Draft& draft) {
    const Along a(draft, 0);
    draft.add("input", a.shape);
    draft.add("index", index_shape(a), Dtype::int64, numbers(0, std::max<int64_t>(a.size, 1)));
    draft.set("dim", a.dim);
    return true;
}

/// Products of many values may overflow on the way: only plain values are multiplied.
bool scatter(Draft& draft) {
    const Along a(draft, 0);
    const Shape index = index_shape(a);
    Shape src = index;
    for (int64_t& size : src) size += a.p == 5 ? 1 : 0;
    draft.add("input", a.shape);
    draft.add("index", index, Dtype::int64, numbers(0, std::max<int64_t>(a.size, 1)));
    draft.add("src", src);
    draft.set("dim", a.dim);
    const bool is_plain = draft.level(Factor::kValues) <= 1 && draft.dtype() != Dtype::boolean;
    const size_t how = draft.level(Factor::kNumbers) % 4;
    if (how == 1 && draft.dtype() != Dtype::boolean) draft.set("reduce", std::string("add"));
    if (how == 2 && is_plain && index.size() < 3) draft.set("reduce", std::string("multiply"));
    return true;
}

/// Index tensors for a shape of at least three dims, an absent one for the dims that the others leave; true where a
/// mask leaves the result's size to the values.
bool add_indices(Draft& draft, const Along& a) {
    const Shape& s = a.shape;
    const bool is_empty = numel(s) == 0;
    const auto add = [&](std::optional<Shape> shape, size_t dim, Dtype dtype = Dtype::int64) {
        if (is_empty && shape) shape = Shape{0};
        const int64_t size = std::max<int64_t>(s[dim], 1);
        draft.add_element("indices", std::move(shape), dtype, numbers(a.p % 2 == 0 ? -size : 0, size));
    };
    const auto add_mask = [&](Shape shape, Dtype dtype) {
        draft.add_element("indices", std::move(shape), dtype, {Fill::kMask});
    };
    switch (a.p) {
        case 0:
            add(Shape{7}, 0);
            return false;
        case 1:
            add(std::nullopt, 0);
            add(Shape{2, 3}, s.size() - 1, Dtype::int32);
            return false;
        case 2:
            add(Shape{4, 1}, 0);
            add(Shape{3}, 1);
            return false;
        case 3:
            add_mask({s[0]}, Dtype::boolean);
            return true;
        case 4:
            add_mask(s, Dtype::boolean);
            return true;
        case 5:
            add(Shape{3}, 0);
            add(std::nullopt, 1);
            add(Shape{2, 1}, s.size() - 1);
            return false;
        case 6:
            add(std::nullopt, 0);
            add(Shape{}, s.size() - 1);
            return false;
        default:
            // PyTorch takes no bytes where it puts one value.
            add_mask({s[0], s[1]}, draft.row().find("values") < 0 ? Dtype::uint8 : Dtype::boolean);
            return true;
    }
}

/// The shape of what the index tensors name.
Shape indexed_shape(const Along& a) {
    const Shape& s = a.shape;
    const bool is_empty = numel(s) == 0;
    const auto joined = [&](Shape a, Shape b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    const auto part = [&](size_t first, size_t last) {
        return Shape(s.begin() + static_cast<std::ptrdiff_t>(first), s.begin() + static_cast<std::ptrdiff_t>(last));
    };
    const auto places = [&](Shape shape) { return is_empty ? Shape{0} : shape; };
    const size_t rank = s.size();
    switch (a.p) {
        case 0:
            return joined(places({7}), part(1, rank));
        case 1:
            return joined(part(0, rank - 1), places({2, 3}));
        case 2:
            return joined(places({4, 3}), part(2, rank));
        case 5:
            return joined(places({2, 3}), part(1, rank - 1));
        default:
            return joined(part(0, rank - 1), places({}));
    }
}

bool index(Draft& draft) {
    const Along a(draft, 3);
    draft.add("input", a.shape);
    add_indices(draft, a);
    return true;
}

/// One value for all elements where a mask names them.
bool index_put(Draft& draft) {
    const Along a(draft, 3);
    draft.add("input", a.shape);
    const bool is_masked = add_indices(draft, a);
    draft.add("values", is_masked ? Shape{} : indexed_shape(a));
    draft.set("accumulate", draft.level(Factor::kNumbers) % 2 == 1);
    return true;
}

/// A mask that broadcasts to the shape.
Shape mask_shape(const Shape& shape, int64_t p) {
    Shape mask = shape;
    if (!mask.empty() && p % 4 == 1) mask.front() = 1;
    if (!mask.empty() && p % 4 == 2) mask.erase(mask.begin());
    if (!mask.empty() && p % 4 == 3) mask.back() = 1;
    return mask;
}

bool masked_scatter(Draft& draft) {
    const Along a(draft, 0);
    draft.add("input", a.shape);
    draft.add("mask", mask_shape(a.shape, a.p), Dtype::boolean, {Fill::kMask});
    draft.add("source", a.p < 4 ? a.shape : Shape{numel(a.shape) + 3});
    return true;
}

bool masked_select(Draft& draft) {
    const Along a(draft, 0);
    const bool spreads_input = a.p >= 6;
    draft.add("input", spreads_input ? mask_shape(a.shape, a.p) : a.shape);
    draft.add("mask", spreads_input ? a.shape : mask_shape(a.shape, a.p), Dtype::boolean, {Fill::kMask});
    return true;
}

bool nonzero(Draft& draft) {
    const Along a(draft, 0);
    if (a.p % 2 == 0)
        draft.add("input", a.shape);
    else
        draft.add("input", a.shape, draft.dtype(), {Fill::kMask});
    return true;
}

bool renorm(Draft& draft) {
    constexpr std::array<double, 4> kNorms = {2, 1, 3, 2.5}, kMost = {1, 0.25, 3, 100};
    const int64_t rows = draft.size(5'000), width = 1 + draft.size(130) % 67;
    const auto p = static_cast<int64_t>(draft.pattern());
    if (rows == 0) return false;
    draft.add("inout", {rows, width});
    draft.add("indices",
              p % 3 == 0   ? Shape{7}
              : p % 3 == 1 ? Shape{2, 30}
                           : Shape{0},
              p % 2 == 0 ? Dtype::int64 : Dtype::int32, numbers(0, rows));
    draft.set("max_norm", kMost[static_cast<size_t>(p % 4)]);
    draft.set("norm_type", kNorms[draft.level(Factor::kNumbers) % 4]);
    return true;
}

}  // namespace

bool shape_index_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::select:
            return select(draft);
        case ShapeRule::slice:
            return slice(draft);
        case ShapeRule::index_select:
            return index_select(draft);
        case ShapeRule::index_fill:
            return index_fill(draft);
        case ShapeRule::gather:
            return gather(draft);
        case ShapeRule::scatter:
            return scatter(draft);
        case ShapeRule::index:
            return index(draft);
        case ShapeRule::index_put:
            return index_put(draft);
        case ShapeRule::masked_scatter:
            return masked_scatter(draft);
        case ShapeRule::masked_select:
            return masked_select(draft);
        case ShapeRule::nonzero:
            return nonzero(draft);
        case ShapeRule::embedding_renorm:
            return renorm(draft);
        default:
            return false;
    }
}

}  // namespace diopi
