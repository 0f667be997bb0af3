/// The tensors and parameters of hard cases of whole attention layers, with their projections and caches.
#include <algorithm>
#include <array>
#include <cmath>

#include "hard/attention_sizes.hpp"
#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

constexpr std::array<double, 4> kThetas = {10'000, 1e6, 500, 1};

/// The choices of a case.
struct LayerSizes {
    int64_t dim, key_heads, heads, layers, batch, longest;

    explicit LayerSizes(const Draft& draft) {
        const size_t p = draft.pattern(), number = draft.level(Factor::kNumbers);
        dim = kHeadDims[draft.level(Factor::kForm) % kHeadDims.size()];
        const int64_t most = std::max<int64_t>(200 / dim, 1);  // heads of q, so that the projection stays small
        key_heads = std::min(kKeyHeads[p], most);
        heads = key_heads * std::clamp<int64_t>(most / key_heads, 1, kGroups[p]);
        layers = 1 + static_cast<int64_t>(number % 2);
        batch = p == 5 ? 0 : 1 + static_cast<int64_t>(p % 3);
        longest = kKeyCounts[draft.level(Factor::kSize) % kKeyCounts.size()];
        if (longest > 500 && dim > 64) longest = 129;
    }
    [[nodiscard]] int64_t width() const { return heads * dim; }
    [[nodiscard]] int64_t columns() const { return (heads + 2 * key_heads) * dim; }
    /// None, some, or all numbers of a head.
    [[nodiscard]] int64_t rotated(size_t number) const {
        return number % 4 == 0 ? 0 : number % 4 == 1 ? dim / 4 * 2 : dim / 2 * 2;
    }
};

/// Adds what both functions have, for so many new tokens and room for `room` of each sequence.
void add_layer(Draft& draft, const LayerSizes& a, int64_t tokens, int64_t room) {
    const size_t number = draft.level(Factor::kNumbers);
    // q and k are of size one, and so are the scores; those of one pattern are large.
    const double high = std::sqrt(3.0 / static_cast<double>(a.width())) * (draft.pattern() == 6 ? 3 : 1);
    draft.add("inoutput", {tokens, a.width()});
    draft.add("qkv_weight", {a.width(), a.columns()}, draft.dtype(), {Fill::kUniform, -high, high});
    draft.add("qkv_bias", number % 3 == 0 ? Shape{1, a.columns()} : Shape{a.columns()});
    const Shape cache = {a.layers, a.batch, a.key_heads, room, a.dim};
    draft.add("key_cache", cache);
    draft.add("value_cache", cache);
    draft.set("fusion_level", static_cast<int64_t>(number % 3));
    draft.set("layer_id", a.layers - 1);
    draft.set("local_head_num", a.heads);
    draft.set("local_kv_head_num", a.key_heads);
    draft.set("size_per_head", a.dim);
    draft.set("max_seq_len", room);
    draft.set("rotary_embedding", a.rotated(number));
    draft.set("rope_theta", kThetas[number % kThetas.size()]);
}

/// Prompts without a history, behind one, and of one token; of one pattern there is nothing new.
bool attend_in_prompts(Draft& draft) {
    const LayerSizes a(draft);
    constexpr int64_t kMostProducts = 3'000'000;
    const size_t p = draft.pattern();
    const int64_t least = std::max<int64_t>(a.batch, 1);
    const int64_t most = std::max<int64_t>(kMostProducts / (a.width() * a.columns() * least), 1);
    const int64_t affordable = std::max<int64_t>(kMostProducts / (a.longest * a.width() * least), 1);
    const int64_t wanted = p == 4 ? 0 : p % 2 == 0 ? a.longest : (a.longest + 1) / 2;
    const int64_t queries = std::min({wanted, most, affordable});
    const int64_t keys = p % 4 == 2 ? queries : a.longest;
    add_layer(draft, a, a.batch * queries, keys + static_cast<int64_t>(p % 3));
    draft.set("is_prepared", false);
    draft.set("max_q_len", queries);
    draft.set("max_kv_len", keys);
    return true;
}

/// Lengths from 0 to the longest one; some sequences of some patterns are finished.
bool attend_in_step(Draft& draft) {
    const LayerSizes a(draft);
    const size_t p = draft.pattern();
    const auto length = [&](int64_t b) { return b == 0 ? a.longest - 1 : (a.longest - 1) / 2 * (b % 2); };
    const Shape each = {a.batch};
    add_layer(draft, a, a.batch, a.longest + static_cast<int64_t>(p % 3));
    draft.add("finished", each, Dtype::boolean, {p % 2 == 0 ? Fill::kZeros : Fill::kMask});
    add_numbers(draft, "total_padding_tokens", each, token_dtype(draft),
                [&](int64_t b) { return a.longest - 1 - length(b) + (p == 3 ? 2 : 0); });
    add_numbers(draft, "sequence_lengths", each, token_dtype(draft), length);
    draft.set("step", a.longest);
    return true;
}

}  // namespace

bool shape_attention_fused_draft(Draft& draft) {
    if (draft.row().rule != ShapeRule::fused_attention) return false;
    return draft.row().find("max_q_len") < 0 ? attend_in_step(draft) : attend_in_prompts(draft);
}

}  // namespace diopi
