/// The tensors and parameters of hard cases of slices, index tensors and masks. Indices are in range; several of one
/// call may name the same element.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/shape.hpp"
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
    const auto& [start, end, near_step] = kSlices[static_cast<size_t>(a.p)];
    // The step to the second element may be beyond 32 bits.
    constexpr std::array<int64_t, 3> kFarSteps = {(int64_t{1} << 31) - 1, int64_t{1} << 31, (int64_t{1} << 32) + 1};
    const size_t chosen = draft.level(Factor::kNumbers);
    const int64_t step = chosen > 0 && chosen % 3 == 0 ? kFarSteps[chosen / 3 - 1] : near_step;
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
    // A source may be larger in each dim; many dims of one element would make it far larger.
    constexpr int64_t kMostOfSource = 1 << 21;
    Shape larger = index;
    for (int64_t& size : larger) ++size;
    const Shape src = a.p == 5 && numel(larger) <= kMostOfSource ? larger : index;
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

/// Whether the pattern has a mask, which leaves the result's size to the values.
bool has_mask(const Along& a) { return a.p == 3 || a.p == 4 || a.p == 7; }

/// The shapes of the index tensors of a pattern without a mask, for a shape of at least three dims: one for each dim,
/// absent where the others leave it.
std::vector<std::optional<Shape>> index_shapes(const Along& a, size_t other) {
    const size_t rank = a.shape.size();
    std::vector<std::optional<Shape>> along(rank);
    switch (a.p) {
        case 0:
            along.front() = Shape{7};
            break;
        case 1:
            along.back() = Shape{2, 3};
            break;
        case 2:
            along[0] = other == 1 ? Shape{5} : Shape{4, 1};
            along[1] = other == 1 ? Shape{5} : Shape{3};
            break;
        case 5:
            along.front() = Shape{3};
            along.back() = Shape{2, 1};
            break;
        default:
            // A number along the last dim, two index tensors with a whole dim before and between them, or a number and
            // an index tensor with one between them.
            along.back() = Shape{};
            if (rank > 3) along = {std::nullopt, Shape{3}, std::nullopt, Shape{2, 1}};
            if (other == 1) along = {Shape{}, std::nullopt, Shape{3}};
            along.resize(rank);
            break;
    }
    if (numel(a.shape) == 0) {
        for (std::optional<Shape>& shape : along) {
            if (shape) shape = Shape{0};
        }
    }
    return along;
}

/// A mask of the first two dims, and as many numbers along the third one as elements are true.
void add_mask_and_numbers(Draft& draft, const Along& a) {
    const Shape mask(a.shape.begin(), a.shape.begin() + 2);
    const int64_t places = numel(mask), count = std::min<int64_t>(places, 3);
    draft.add_element("indices", mask, Dtype::boolean, {Fill::kValue});
    std::vector<double>& values = draft.made().tensors.back().values;
    values.assign(static_cast<size_t>(places), 0);
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>((i + 1) * places / count - 1)] = 1;
    draft.add_element("indices", Shape{count}, Dtype::int64, numbers(-a.shape[2], a.shape[2]));
}

void add_indices(Draft& draft, const Along& a) {
    const size_t other = draft.level(Factor::kOther);
    if (a.p == 7 && other == 1 && numel(a.shape) > 0 && a.shape[0] * a.shape[1] <= kMostWritten) {
        return add_mask_and_numbers(draft, a);
    }
    if (has_mask(a)) {
        Shape mask = a.shape;
        if (a.p != 4) mask.resize(a.p == 3 ? 1 : 2);
        // PyTorch takes no bytes where it puts one value.
        const bool is_byte = a.p == 7 && draft.row().find("values") < 0;
        return draft.add_element("indices", std::move(mask), is_byte ? Dtype::uint8 : Dtype::boolean, {Fill::kMask});
    }
    std::vector<std::optional<Shape>> along = index_shapes(a, other);
    for (size_t dim = 0; dim < along.size(); ++dim) {
        const int64_t size = std::max<int64_t>(a.shape[dim], 1);
        // In some calls both.
        const bool is_narrow = a.p == 1 || (other == 2 && dim == 0);
        draft.add_element("indices", std::move(along[dim]), is_narrow ? Dtype::int32 : Dtype::int64,
                          numbers(a.p % 2 == 0 ? -size : 0, size));
    }
}

/// The shape of what index tensors name: theirs in place of their dims where these are neighbours, else in front.
Shape indexed_shape(const Draft& draft, const Along& a) {
    Shape own, left;
    size_t first = a.shape.size(), last = 0, count = 0;
    const std::vector<std::optional<Shape>> along = index_shapes(a, draft.level(Factor::kOther));
    for (size_t dim = 0; dim < along.size(); ++dim) {
        if (!along[dim]) {
            left.push_back(a.shape[dim]);
            continue;
        }
        own = *broadcast_shapes(own, *along[dim]);
        first = std::min(first, dim);
        last = dim;
        ++count;
    }
    const size_t at = last - first + 1 == count ? first : 0;
    left.insert(left.begin() + static_cast<std::ptrdiff_t>(at), own.begin(), own.end());
    return left;
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
    add_indices(draft, a);
    Shape values = has_mask(a) ? Shape{} : indexed_shape(draft, a);
    // Or values that broadcast, or one for all.
    if (draft.level(Factor::kNumbers) % 4 >= 2 && !values.empty()) values.erase(values.begin());
    if (draft.level(Factor::kNumbers) >= 8 && !values.empty()) values = {1};
    draft.add("values", std::move(values));
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
    constexpr std::array<double, 5> kNorms = {2, 1, 3, 2.5, 0.5};
    constexpr std::array<double, 4> kMost = {1, 0.25, 3, 100};
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
    draft.set("norm_type", kNorms[draft.level(Factor::kNumbers) % kNorms.size()]);
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
