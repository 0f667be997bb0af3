/// The tensors and parameters of hard cases of sorting, and of sums along a dim.
#include <algorithm>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// Slices along a dim that agree in their first elements, and then only each with the second one behind it.
void add_late_differences(Draft& draft, const Shape& shape, size_t dim) {
    constexpr int64_t kAlike = 32;
    draft.add("input", shape, draft.dtype(), {Fill::kValue});
    const ShapeView behind = ShapeView(shape).subspan(dim + 1);
    const int64_t inner = numel(behind), size = shape[dim];
    for (int64_t i = 0; i < numel(shape); ++i) {
        const int64_t slice = i / inner % size, at = i / (inner * size) * inner + i % inner;
        const bool differs = at >= kAlike && slice % 2 == 1;
        draft.made().tensors.back().values.push_back(static_cast<double>((at + (differs ? 1 : 0)) % 2));
    }
}

/// Few different values: so slices repeat, too.
bool unique(Draft& draft) {
    const Shape shape = draft.shape();
    const auto rank = std::ssize(shape), p = static_cast<int64_t>(draft.pattern());
    const bool has_dim = p >= 4 && rank > 0;
    if (has_dim && numel(shape) == 0) return false;
    if (p == 4 && has_dim && numel(shape) <= kMostWritten) {
        add_late_differences(draft, shape, static_cast<size_t>(p % rank));
    } else if (p % 2 == 0) {
        draft.add("input", shape);
    } else {
        const double values = draft.dtype() == Dtype::boolean || has_dim ? 2 : 100;
        draft.add("input", shape, draft.dtype(), {Fill::kRandint, 0, values});
    }
    if (has_dim) draft.set("dim", p % 2 == 0 ? p % rank : -1 - p % rank);
    draft.set("sorted", draft.level(Factor::kOther) != 1);
    draft.set("return_counts", draft.level(Factor::kNumbers) % 2 == 0);
    draft.set_hint("return_inverse", draft.level(Factor::kNumbers) % 3 != 0);
    return true;
}

}  // namespace

bool shape_sort_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::unique) return unique(draft);
    const Shape shape = draft.shape();
    const auto rank = std::max<int64_t>(std::ssize(shape), 1), p = static_cast<int64_t>(draft.pattern());
    const int64_t dim = p % rank;
    draft.add("input", shape);
    draft.set("dim", p % 2 == 0 ? dim : dim - rank);
    const size_t chosen = draft.level(Factor::kNumbers);
    draft.set("descending", chosen % 2 == 1);
    draft.set("largest", chosen % 2 == 0);
    draft.set("sorted", draft.level(Factor::kOther) != 1);
    draft.set(draft.row().find("pStable") >= 0 ? "pStable" : "stable", draft.level(Factor::kOther) % 2 == 0);
    const int64_t n = shape.empty() ? 1 : shape[static_cast<size_t>(dim)];
    const int64_t sizes[] = {n, 1, n / 2, 10, n - 1};
    draft.set("k", std::clamp<int64_t>(sizes[chosen % 5], n == 0 ? 0 : 1, n));
    return true;
}

}  // namespace diopi
