/// The tensors and parameters of hard cases of the softmax of attention scores.
#include <array>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// (batch, heads, seq_q, seq_k) whose keys, queries or heads have the boundary's size.
Shape scores_of(const Draft& draft) {
    switch (draft.level(Factor::kForm)) {
        case 0:
            return {2, 1, 3, draft.size(4'097)};
        case 1:
            return {1, 2, draft.size(257), 9};
        case 2:
            return {draft.size(65), 3, 2, 17};
        case 3:
            return {1, 2, draft.size(130), draft.size(130)};
        case 4:
            return {1, draft.size(65), 5, 33};
        case 5:
            return {1, 1, 1, draft.size(1'025)};
        case 6:
            return {2, 2, draft.size(129), 1};
        default:
            return {1, 2, 65, 64};
    }
}

/// A mask that broadcasts to the scores: of some of their dims, of whole rows, or of everything.
Shape mask_of(const Shape& scores, size_t pattern) {
    const auto [batch, heads, queries, keys] = std::array{scores[0], scores[1], scores[2], scores[3]};
    switch (pattern) {
        case 1:
            return {batch, 1, queries, keys};
        case 2:
            return {1, 1, queries, keys};
        case 3:
            return {batch, 1, 1, keys};
        case 4:
            return {batch, heads, queries, 1};
        case 5:
            return {queries, keys};
        case 6:
            return {keys};
        case 7:
            return {1, 1, 1, 1};
        default:
            return scores;
    }
}

}  // namespace

bool shape_attention_softmax_draft(Draft& draft) {
    if (draft.row().rule != ShapeRule::scaled_masked_softmax) return false;
    constexpr std::array<double, kPatterns> kScales = {0.125, 1, 0.334, -1, 0, 30, 0.0883, 0.25};
    const Shape scores = scores_of(draft);
    draft.add("input", scores);
    draft.add("mask", mask_of(scores, draft.pattern()), Dtype::boolean,
              {draft.pattern() == 7 ? Fill::kOnes : Fill::kMask});
    draft.set("scale", kScales[draft.level(Factor::kNumbers) % kPatterns]);
    draft.set("fixed_triu_mask", draft.level(Factor::kOther) == 1);
    return true;
}

}  // namespace diopi
