/// The tensors and parameters of hard cases of sampling.
#include <algorithm>
#include <iterator>

#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

/// Lists of k and p, one number for all, or both; 0, and what lies beside the bounds.
bool set_up_arguments(Draft& draft) {
    constexpr int64_t kCounts[] = {40, 0, 1, 0, 1'023, 1'024, 1'025, 100'000, 2, 0};
    constexpr double kShares[] = {0.9, 0, 0.5, 1, 1.5, -0.25, 0.999, 1e-6, 0, 0};
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t batch = draft.size(1'025);
    const size_t number = draft.level(Factor::kNumbers);
    const auto count = [&](int64_t i) { return kCounts[mixed(i + p, std::ssize(kCounts))]; };
    add_numbers(draft, "top_ks", {batch}, draft.dtype() == Dtype::int64 ? Dtype::int64 : Dtype::int32, count);
    add_numbers(draft, "top_ps", {batch}, Dtype::float32,
                [&](int64_t i) { return kShares[mixed(i + 31 * p + 5, std::ssize(kShares))]; });
    draft.set("batch_size", batch);
    draft.set("top_k", kCounts[number]);
    draft.set("top_ks_size", p % 2 == 0 ? batch : p % 4 == 1 ? 1 : 0);
    draft.set("top_p", kShares[(number + 3 * draft.pattern()) % std::size(kShares)]);
    draft.set("top_ps_size", p < 4 ? batch : p == 4 ? 1 : 0);
    constexpr double kOptions[] = {0.5, 1, 0, 1.25, -1, 1e-6, 0.999, 0.1, 2, 0.75};
    draft.set("top_p_decay", kOptions[number]);
    draft.set("top_p_min", kOptions[(number + 3) % std::size(kOptions)]);
    draft.set("top_p_reset_ids", p - 1);
    return true;
}

/// How many tokens there are, and of how many sequences; whether their logits are equal.
struct Generation {
    int64_t batch, vocab;
    bool is_uniform;
};

/// Hundreds of sequences with few tokens show the frequencies; a few have thousands of tokens.
Generation generation_of(const Draft& draft) {
    switch (draft.level(Factor::kForm)) {
        case 0:
            return {700, 7, true};
        case 1:
            return {700, 4, false};
        case 2:
            return {600 + draft.size(300), 3, true};
        case 3:
            return {draft.size(9), 2'000, false};
        case 4:
            return {600, std::max<int64_t>(draft.size(65), 1), true};
        case 5:
            return {600, std::max<int64_t>(draft.size(65), 2), false};
        case 6:
            return {2, 2'000 + draft.size(6'000), false};
        default:
            return {700, 2, true};
    }
}

/// Equal logits, or the values of the case; k = 1, below the number of tokens, and above; cuts at 0, inside a token and
/// at 1. Some sequences are skipped, some finished.
bool draw_tokens(Draft& draft) {
    constexpr Dtype kLogits[] = {Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::float32,
                                 Dtype::float64, Dtype::float16, Dtype::float32,  Dtype::bfloat16};
    constexpr int64_t kCounts[] = {3, 1, 1'024, 2, 40, 5, 1'023, 4};
    constexpr double kCuts[] = {1, 0.9, 0.5, 0.95, 0, 1, 1e-3, 0.65};
    const size_t p = draft.pattern();
    const Generation g = generation_of(draft);
    const auto step = static_cast<int64_t>(draft.level(Factor::kNumbers) % 3);
    const Shape each = {g.batch};
    const Dtype ids = draft.dtype() == Dtype::int64 ? Dtype::int64 : Dtype::int32;
    draft.add("output_ids", {step + 1, g.batch}, ids, {Fill::kRandint, 0, static_cast<double>(g.vocab)});
    draft.add("logits", {g.batch, g.vocab}, kLogits[p], g.is_uniform ? kOnesFill : FillSpec{});
    draft.add("end_ids", each, ids, {Fill::kRandint, 0, static_cast<double>(std::min<int64_t>(g.vocab, 9))});
    draft.add("finished", each, Dtype::boolean, {p == 3 ? Fill::kMask : Fill::kZeros});
    draft.add("sequence_lengths", each, ids, {Fill::kRandint, 0, 100});
    draft.add("runtime_top_k", each, ids,
              {Fill::kRandint, static_cast<double>(kCounts[p]), static_cast<double>(kCounts[p] + (p == 6 ? 3 : 1))});
    add_numbers(draft, "runtime_top_p", each, Dtype::float32, [&](int64_t) { return kCuts[p]; });
    draft.add("skip_decode", each, Dtype::boolean, {p == 7 ? Fill::kMask : Fill::kZeros});
    draft.add("cum_log_probs", each, Dtype::float32, {Fill::kUniform, -50, 0});
    draft.add("output_log_probs", each, Dtype::float32, {Fill::kUniform, -50, 0});
    draft.set("step", step);
    draft.set("batch_size", g.batch);
    draft.set("vocab_size_padded", g.vocab);
    return true;
}

}  // namespace

bool shape_attention_sampling_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::topk_arguments:
        case ShapeRule::topp_arguments:
            return set_up_arguments(draft);
        case ShapeRule::token_sampling:
            return draw_tokens(draft);
        default:
            return false;
    }
}

}  // namespace diopi
