/// The tensors and parameters of hard cases of the products of a layer beside its attention.
#include <array>
#include <string>

#include "hard/draft.hpp"

namespace diopi {

namespace {

/// Three sizes, of which the boundary stands for one or for all.
std::array<int64_t, 3> sizes_of(const Draft& draft) {
    std::array<int64_t, 3> sizes = {7, 5, 6};
    const size_t form = draft.level(Factor::kForm);
    if (form == 6) sizes.fill(draft.size(65));
    if (form == 7) sizes = {1, 1, draft.size(1'025)};
    if (form < 6) sizes[form % 3] = draft.size(form < 3 ? 4'097 : 257);
    return sizes;
}

bool feed_forward(Draft& draft) {
    const auto [tokens, hidden, inter] = sizes_of(draft);
    draft.add("inoutput", {tokens, hidden});
    draft.add("weight1", {hidden, inter});
    draft.add("weight2", {inter, hidden});
    draft.add("weight3", {hidden, inter});
    draft.set("fusion_level", static_cast<int64_t>(draft.pattern() % 3));
    return true;
}

bool multiply(Draft& draft) {
    const auto [m, k, n] = sizes_of(draft);
    draft.add("x1", {m, k});
    draft.add("x2", {k, n});
    draft.add("bias", {n});
    draft.set("group", std::string("world"));
    draft.set("comm_turn", static_cast<int64_t>(draft.pattern() % 3));
    draft.set("stream_mode", static_cast<int64_t>(draft.pattern() % 2));
    return true;
}

}  // namespace

bool shape_attention_ffn_draft(Draft& draft) {
    if (draft.row().rule == ShapeRule::gated_ffn) return feed_forward(draft);
    return draft.row().rule == ShapeRule::matmul_all_reduce && multiply(draft);
}

}  // namespace diopi
