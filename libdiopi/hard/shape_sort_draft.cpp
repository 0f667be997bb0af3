/// The tensors and parameters of hard cases of sorting, and of sums along a dim.
#include <algorithm>

#include "hard/draft.hpp"

namespace diopi {

bool shape_sort_draft(Draft& draft) {
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
