/// The tensors and parameters of hard cases of functions that change logits before a token is drawn.
#include <algorithm>
#include <numeric>

#include "hard/draft.hpp"
#include "hard/tokens.hpp"

namespace diopi {

namespace {

/// Logits whose rows or columns have the boundary's size.
struct LogitSizes {
    int64_t batch = 3, vocab = 33;

    explicit LogitSizes(const Draft& draft) {
        switch (draft.level(Factor::kForm)) {
            case 0:
                vocab = draft.size(2'000);
                break;
            case 1:
                batch = draft.size(129);
                break;
            case 2:
                batch = 1;
                vocab = draft.size(4'097);
                break;
            case 3:
                batch = vocab = draft.size(65);
                break;
            case 4:
                vocab = 1;
                break;
            case 5:
                vocab = draft.size(65'537);
                break;
            default:
                batch = 8;
                break;
        }
    }
    [[nodiscard]] Shape shape() const { return {batch, vocab}; }
};

/// The tokens that each row lists, none twice, and the running ends of the rows' lists.
struct Listed {
    std::vector<int64_t> tokens, ends = {0};
    int64_t most = 0;

    Listed(const LogitSizes& sizes, int64_t pattern) {
        for (int64_t b = 0; b < sizes.batch; ++b) {
            const int64_t count = std::min(sizes.vocab, pattern == 7 ? 0 : (5 * b + 9 * pattern + 1) % 66);
            const int64_t step = count == 0 ? 1 : sizes.vocab / count;
            for (int64_t i = 0; i < count; ++i) {
                const int64_t nth = b % 2 == 0 ? i : count - 1 - i;
                tokens.push_back(nth * step + b % step);
            }
            ends.push_back(std::ssize(tokens));
            most = std::max(most, count);
        }
    }
    [[nodiscard]] Shape shape() const { return {std::ssize(tokens)}; }
};

/// 0, a few times, and so often that the penalty is far larger than the logit.
int64_t times(int64_t i) { return i % 11 == 7 ? 1'000 : i % 5; }

bool list_penalties(Draft& draft) {
    const LogitSizes sizes(draft);
    const auto p = static_cast<int64_t>(draft.pattern());
    const Listed listed(sizes, p);
    draft.add("logits", sizes.shape());
    draft.add("presence_penalty", {sizes.batch});
    draft.add("frequency_penalty", {sizes.batch});
    const auto at = [](const std::vector<int64_t>& numbers) {
        return [&numbers](int64_t i) { return numbers[static_cast<size_t>(i)]; };
    };
    add_numbers(draft, "p_token_ids", listed.shape(), Dtype::int32, at(listed.tokens));
    add_numbers(draft, "p_token_counts", listed.shape(), Dtype::int32, times);
    add_numbers(draft, "p_cumsum_seq_len", {sizes.batch + 1}, Dtype::int32, at(listed.ends));
    draft.set("p_max_len_in_batch", listed.most + p % 2);
    return true;
}

bool list_flat_penalties(Draft& draft) {
    const LogitSizes sizes(draft);
    const Listed listed(sizes, static_cast<int64_t>(draft.pattern()));
    draft.add("logits", sizes.shape());
    for (const char* penalty : {"presence_penalty", "frequency_penalty", "repetition_penalty"}) {
        draft.add(penalty, listed.shape());
    }
    int64_t b = 0;
    add_numbers(draft, "p_token_ids", listed.shape(), Dtype::int32, [&](int64_t i) {
        while (i >= listed.ends[static_cast<size_t>(b + 1)]) ++b;
        return b * sizes.vocab + listed.tokens[static_cast<size_t>(i)];
    });
    add_numbers(draft, "p_token_counts", listed.shape(), Dtype::int32, times);
    return true;
}

bool penalise_repetition(Draft& draft) {
    const LogitSizes sizes(draft);
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t step = generated_steps(draft), longest = std::min<int64_t>(step, 7 + 20 * (p % 3));
    // Ids outside of the vocabulary are ignored.
    const int64_t beyond = p == 5 ? 2 : 0;
    draft.add("logits", sizes.shape());
    draft.add("penalties", {sizes.batch});
    draft.add("output_ids", {step + p % 3, sizes.batch}, token_dtype(draft),
              {Fill::kRandint, static_cast<double>(-beyond),
               static_cast<double>(std::max<int64_t>(sizes.vocab, 1) + beyond)});
    add_numbers(draft, "input_lengths", {sizes.batch}, token_dtype(draft),
                [=](int64_t b) { return mixed(b, longest + 1); });
    draft.set("batch_size", sizes.batch);
    draft.set("vocab_size", sizes.vocab);
    draft.set("max_input_length", longest);
    draft.set("step", step);
    constexpr int64_t kTypes[] = {1, 2, 2, 1, 0, 2, 1, 2};
    draft.set("penalty_type", kTypes[p]);
    return true;
}

bool apply_temperature(Draft& draft) {
    const LogitSizes sizes(draft);
    constexpr int64_t kPadding[] = {0, 1, 7, 0, 31, 64, 2, 0};
    const int64_t padding = kPadding[draft.pattern()];
    draft.add("logits", {sizes.batch, sizes.vocab + padding});
    draft.add("bias", {sizes.vocab});
    const bool is_cold = draft.pattern() == 6;
    draft.add("temperatures", {sizes.batch}, Dtype::float32,
              {Fill::kUniform, is_cold ? 1e-7 : 0.05, is_cold ? 1e-5 : 3.0});
    draft.set("batch_size", sizes.batch);
    draft.set("vocab_size", sizes.vocab);
    draft.set("vocab_size_padd", sizes.vocab + padding);
    return true;
}

bool ban_words(Draft& draft) {
    const LogitSizes sizes(draft);
    const auto p = static_cast<int64_t>(draft.pattern());
    const int64_t step = generated_steps(draft), length = words_length(draft), first = p % 3;
    const bool shared = draft.level(Factor::kOther) == 1;
    const Words words(shared ? 1 : sizes.batch, length, p, p % 2 == 0 ? -7 : sizes.vocab + 3);
    draft.add("logits", sizes.shape());
    add_numbers(draft, "output_ids", {step + p % 2, sizes.batch + first + p % 2}, token_dtype(draft),
                [](int64_t i) { return mixed(i, kTokens); });
    add_numbers(draft, "bad_words", shared ? Shape{2, length} : Shape{sizes.batch, 2, length}, token_dtype(draft),
                [&](int64_t i) { return words.at(i); });
    draft.set("id_offset", first);
    draft.set("bad_words_len", length);
    draft.set("share_words", shared);
    draft.set("batch_size", sizes.batch);
    draft.set("vocab_size", sizes.vocab);
    draft.set("step", step);
    return true;
}

}  // namespace

bool shape_attention_penalty_draft(Draft& draft) {
    switch (draft.row().rule) {
        case ShapeRule::apply_penalty:
            return list_penalties(draft);
        case ShapeRule::apply_penalty_v2:
            return list_flat_penalties(draft);
        case ShapeRule::repetition_penalty:
            return penalise_repetition(draft);
        case ShapeRule::temperature_penalty:
            return apply_temperature(draft);
        case ShapeRule::ban_bad_words:
            return ban_words(draft);
        default:
            return false;
    }
}

}  // namespace diopi
