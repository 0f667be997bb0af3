/// The tensors and parameters of hard cases of rotary embeddings.
#include <array>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// Sizes of heads: those of models, and those whose halves are no vectors.
constexpr std::array<int64_t, kPatterns> kHeadSizes = {64, 128, 32, 256, 2, 14, 66, 96};

/// The tokens of a sequence.
int64_t tokens_of(const Draft& draft, int64_t head_size) { return draft.size(head_size > 66 ? 129 : 1'025); }

/// The shapes of x and of its angles without the last dim.
struct Leading {
    Shape x, angles;
};
Leading leading_of(size_t form, int64_t tokens) {
    switch (form) {
        case 0:
            return {{2, tokens, 3}, {tokens, 1}};
        case 1:
            return {{tokens}, {tokens}};
        case 2:
            return {{2, tokens, 2}, {2, tokens, 1}};
        case 3:
            return {{3, tokens}, {tokens}};
        case 4:
            return {{tokens, 8}, {tokens, 1}};
        case 5:
            return {{2, tokens, 1}, {2, 1, 1}};
        case 6:
            return {{2, 1, tokens, 2, 1}, {tokens, 1, 1}};
        default:
            return {{}, {}};
    }
}

Shape with_last(Shape shape, int64_t size) {
    shape.push_back(size);
    return shape;
}

bool rotate(Draft& draft) {
    const int64_t head_size = kHeadSizes[draft.pattern()];
    const Leading leading = leading_of(draft.level(Factor::kForm), tokens_of(draft, head_size));
    const size_t flags = draft.level(Factor::kNumbers);
    draft.add("x", with_last(leading.x, head_size));
    draft.add("cos", with_last(leading.angles, head_size / 2));
    draft.add("sin", with_last(leading.angles, head_size / 2));
    draft.set("conj", flags % 2 == 1);
    draft.set("interleaved", flags / 2 % 2 == 1);
    return true;
}

bool rotate_heads(Draft& draft) {
    constexpr std::array<int64_t, kDraftForms> kHeads = {1, 2, 3, 8, 4, 5, 1, 7}, kKeyHeads = {1, 1, 3, 1, 2, 0, 1, 7};
    const int64_t dim = kHeadSizes[draft.pattern()], tokens = tokens_of(draft, dim);
    const size_t form = draft.level(Factor::kForm);
    const auto heads = [&](int64_t count, bool apart) {
        return apart ? Shape{tokens, count, dim} : Shape{tokens, count * dim};
    };
    draft.add("query", heads(kHeads[form], form % 2 == 1));
    draft.add("key", heads(kKeyHeads[form], form % 3 == 1));
    draft.add("cos", {tokens, 1, dim});
    draft.add("sin", {tokens, 1, dim});
    draft.set("dim", dim);
    return true;
}

}  // namespace

bool shape_attention_rotary_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::rotary) return rotate(draft);
    return draft.row().rule == ShapeRule::rotary_in_place && rotate_heads(draft);
}

}  // namespace diopi
