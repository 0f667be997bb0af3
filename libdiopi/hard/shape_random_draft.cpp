/// The tensors and parameters of hard cases of random functions.
#include <algorithm>
#include <iterator>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// Bounds that the dtype holds; whole numbers for integers, and a range that no rounding makes smaller.
void set_range(Draft& draft) {
    const size_t chosen = draft.level(Factor::kNumbers);
    if (draft.row().law.law == Law::kIntegerUniform) {
        if (draft.dtype() == Dtype::boolean) return draft.set("to", int64_t{2});
        constexpr int64_t kFrom[] = {0, 3, -5, 0, 100}, kTo[] = {10, 4, 7, 100, 120};
        const size_t at = chosen % std::size(kFrom);
        if (is_unsigned(draft.dtype()) && kFrom[at] < 0) return;
        draft.set("from", kFrom[at]);
        draft.set("to", kTo[at]);
        return;
    }
    constexpr double kFrom[] = {0, -1, 2.5, -100, 0.25}, kTo[] = {1, 1, 3, 100, 0.25};
    draft.set("from", kFrom[chosen % std::size(kFrom)]);
    draft.set("to", kTo[chosen % std::size(kTo)]);
}

/// Numbers of categories; the weights of a row are not all 0. Rows of equal weights do not give equal samples.
bool choose_categories(Draft& draft) {
    const int64_t categories = 1 + draft.size(300), rows = 1 + static_cast<int64_t>(draft.pattern());
    const bool replaces = draft.level(Factor::kOther) % 2 == 0;
    const bool is_vector = draft.level(Factor::kForm) % 2 == 0;
    draft.add("input", is_vector ? Shape{categories} : Shape{rows, categories}, draft.dtype(),
              rows % 3 == 0 ? kOnesFill : FillSpec{Fill::kPositive});
    draft.set("num_samples", replaces ? draft.size(2000) + 1 : 1 + draft.size(5'000) % categories);
    draft.set("replacement", replaces);
    return true;
}

}  // namespace

/// A tensor with a meaning has the probabilities.
bool shape_random_draft(Draft& draft) {
    const Row& row = draft.row();
    if (row.rule == ShapeRule::multinomial) return choose_categories(draft);
    if (row.rule == ShapeRule::permutation) {
        draft.set("n", draft.size(70'000));
        return draft.dtype() == Dtype::float32;
    }
    constexpr double kProbabilities[] = {0.5, 0, 1, 0.3, 0.01, 0.999};
    constexpr double kMeans[] = {0, -2.5, 100, 0, 0.1}, kDeviations[] = {1, 0.7, 3, 1e-3, 50};
    const Shape shape = draft.shape();
    const size_t chosen = draft.level(Factor::kNumbers);
    for (const Arg& arg : row.args()) {
        if (!arg.is_tensor() || arg.is_output) continue;
        draft.add(arg.name, shape, draft.dtype(), {arg.has_meaning ? Fill::kRand : Fill::kRandn});
    }
    if (row.rule == ShapeRule::drawn && draft.made().tensors.empty()) draft.set_hint("size", shape);
    draft.set("p", kProbabilities[chosen % std::size(kProbabilities)]);
    if (row.law.law == Law::kUniform || row.law.law == Law::kIntegerUniform) set_range(draft);
    draft.set("train", draft.pattern() != 3);
    // A mask for all of the first dim, of the second, of both, of the third.
    constexpr int64_t kSharedDims[kPatterns] = {0, 1, 2, 0, 0, 3, 4, 0};
    const int64_t shared = kSharedDims[draft.pattern()];
    const bool has_dims = shared < int64_t{1} << shape.size();
    if (row.law.law == Law::kDropout && shared != 0 && has_dims) draft.set_hint("shared_dims", shared);
    const auto is_number = [&](std::string_view arg) {
        const int at = row.find(arg);
        return at >= 0 && !row.args()[static_cast<size_t>(at)].is_tensor();
    };
    if (is_number("mean")) draft.set("mean", kMeans[chosen % std::size(kMeans)]);
    if (is_number("std")) draft.set("std", kDeviations[chosen % std::size(kDeviations)]);
    return true;
}

}  // namespace diopi
