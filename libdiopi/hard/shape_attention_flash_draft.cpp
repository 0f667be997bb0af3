/// The tensors and parameters of hard cases of attention over whole sequences.
#include <algorithm>
#include <array>
#include <string>

#include "hard/draft.hpp"

namespace diopi {

namespace {

struct AttentionSides {
    int64_t batch = 2, queries = 17, keys = 19, key_heads = 2, group = 1, dim = 16;

    [[nodiscard]] int64_t heads() const { return key_heads * group; }
};

/// The boundary's size is that of the sequences, of one of them, of a head, of the heads or of the batch.
AttentionSides sides_of(const Draft& draft) {
    AttentionSides sides;
    switch (draft.level(Factor::kForm)) {
        case 0:
            sides.queries = sides.keys = draft.size(1'000);
            sides.batch = sides.key_heads = 1;
            sides.dim = 8;
            break;
        case 1:
            sides.dim = std::max<int64_t>(draft.size(256), 1);
            break;
        case 2:
            sides.queries = draft.size(300);
            sides.group = 3;
            sides.dim = 7;
            break;
        case 3:
            sides.keys = draft.size(1'025);
            sides.dim = 33;
            sides.queries = 5;
            break;
        case 4:
            sides.key_heads = 1 + draft.size(33) % 5;
            sides.group = 1 + draft.size(33) % 8;
            break;
        case 5:
            sides.batch = draft.size(33);
            sides.group = 2;
            break;
        case 6:
            sides.queries = 1;
            sides.keys = 1 + draft.size(130);
            sides.group = 8;
            sides.key_heads = 1;
            sides.dim = 64;
            break;
        default:
            sides = {1, 1, 1, 1, 1, 1};
            break;
    }
    // The function may have no key heads of their own.
    if (draft.row().op.starts_with("multihead")) sides.group = 1;
    return sides;
}

/// The running ends of as many sequences as the batch has, of which some are empty and one has `most` rows.
Shape ends_of(int64_t batch, int64_t most, size_t pattern, bool begins_with_0) {
    Shape ends;
    if (begins_with_0) ends.push_back(0);
    int64_t end = 0;
    for (int64_t b = 0; b < batch; ++b) {
        const int64_t kind = (b + static_cast<int64_t>(pattern)) % 4;
        end += kind == 1 ? 0 : kind == 2 ? std::min<int64_t>(most, 1) : kind == 3 ? most / 2 : most;
        ends.push_back(end);
    }
    return ends;
}

/// Sets both lists of ends, and gives the rows of all sequences together.
std::pair<int64_t, int64_t> concatenate(Draft& draft, const AttentionSides& sides) {
    const bool is_tensor = draft.row().args()[static_cast<size_t>(draft.row().find("cum_seq_q"))].is_tensor();
    const size_t p = draft.pattern();
    const Shape of_q = ends_of(sides.batch, sides.queries, p, is_tensor);
    const Shape of_k = ends_of(sides.batch, sides.keys, draft.level(Factor::kOther) == 0 ? p : p + 1, is_tensor);
    // Both may have one word in cases; their own names differ.
    draft.set_hint("cum_seq_q", of_q);
    draft.set_hint(draft.row().find("cum_seq_k") >= 0 ? "cum_seq_k" : "cum_seq_kv", of_k);
    for (const char* most : {"max_q", "max_seqlen_q"}) {
        if (draft.row().find(most) >= 0) draft.set_hint(most, sides.queries);
    }
    for (const char* most : {"max_k", "max_seqlen_kv"}) {
        if (draft.row().find(most) >= 0) draft.set_hint(most, sides.keys);
    }
    return {of_q.back(), of_k.back()};
}

Shape laid_out(std::string_view layout, int64_t batch, int64_t length, int64_t heads, int64_t dim) {
    if (layout == "BNSD") return {batch, heads, length, dim};
    if (layout == "BSH") return {batch, length, heads * dim};
    if (layout == "SBH") return {length, batch, heads * dim};
    return {batch, length, heads, dim};
}

void set_windows(Draft& draft) {
    // Below 0 there is no bound; a causal mask goes before that to the right.
    constexpr std::array<int64_t, kPatterns> kLeft = {-1, -1, 3, 5, 7, -2, 40, 0},
                                             kRight = {-1, -1, -2, 2, 3, 4, 70, 0};
    const size_t p = draft.pattern();
    draft.set("is_causal", p == 1 || p == 4);
    draft.set("window_size_left", kLeft[p]);
    draft.set("window_size_right", kRight[p]);
}

}  // namespace

bool shape_attention_flash_draft(Draft& draft) {
    const AttentionSides sides = sides_of(draft);
    const bool is_packed = draft.row().find("cum_seq_q") >= 0;
    constexpr std::array kLayouts = {"BSND", "BNSD", "BSH", "SBH"};
    const bool has_layout = draft.row().find("input_layout") >= 0;
    const std::string layout = has_layout ? kLayouts[(draft.pattern() + draft.level(Factor::kOther)) % 4] : "BSND";
    if (is_packed && sides.batch == 0) return false;
    Shape q = laid_out(layout, sides.batch, sides.queries, sides.heads(), sides.dim);
    Shape k = laid_out(layout, sides.batch, sides.keys, sides.key_heads, sides.dim);
    if (is_packed) {
        const auto [of_q, of_k] = concatenate(draft, sides);
        q = {of_q, sides.heads(), sides.dim}, k = {of_k, sides.key_heads, sides.dim};
    }
    draft.add("q", q);
    draft.add("k", k);
    draft.add("v", k);
    const bool has_own_slopes = draft.level(Factor::kOther) == 1;
    draft.add("alibi_slopes", has_own_slopes ? Shape{sides.batch, sides.heads()} : Shape{sides.heads()}, Dtype::float32,
              {Fill::kUniform, 0, 1});
    draft.add("attention_mask", {sides.queries, sides.keys}, Dtype::boolean,
              {draft.level(Factor::kOther) == 2 ? Fill::kOnes : Fill::kMask});
    set_windows(draft);
    constexpr std::array<double, 5> kScales = {0, -0.3, 1, 0.125, 2.5};
    const size_t chosen = draft.level(Factor::kNumbers);
    for (const char* scale : {"scale", "softmax_scale"}) {
        // Half of the cases leave it out.
        if (chosen < kScales.size()) draft.set(scale, kScales[chosen]);
    }
    draft.set("head_num", sides.heads());
    draft.set("input_layout", layout);
    return true;
}

}  // namespace diopi
