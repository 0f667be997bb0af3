/// Logits that are changed before a token is drawn: penalties of tokens that were there before, temperatures, and words
/// that must not be produced.
#include <limits>
#include <set>
#include <vector>

#include "core/format.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_words.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Logits that are changed in place; refuses those that are not (rows, columns).
template <class T>
Output<T> logits_of(diopiTensorHandle_t logits) {
    const View v = view_of(logits);
    if (kind_of(v.dtype) != Kind::kFloating) refuse_dtype("logits", v.dtype, "a floating dtype");
    if (v.shape.size() != 2) refuse("logits has shape " + to_string(v.shape) + ", wanted (batch, vocab)");
    return {logits, "logits", Output<T>::Start::kOldValues};
}

template <class T>
Output<T> logits_of(diopiTensorHandle_t logits, int64_t rows, int64_t columns) {
    require_shape("logits", view_of(logits).shape, Shape{rows, columns});
    return logits_of<T>(logits);
}

template <class T>
Operand<T> floats_of(diopiConstTensorHandle_t tensor, std::string_view argument, int64_t count) {
    const View v = view_of(tensor);
    if (kind_of(v.dtype) != Kind::kFloating) refuse_dtype(argument, v.dtype, "a floating dtype");
    require_shape(argument, v.shape, Shape{count});
    return {tensor, argument};
}

/// The listed tokens, and how often each was generated.
struct Listed {
    Operand<int64_t> ids, counts;

    Listed(diopiConstTensorHandle_t token_ids, diopiConstTensorHandle_t token_counts)
        : ids(integers_of(token_ids, "p_token_ids")), counts(integers_of(token_counts, "p_token_counts")) {
        require_shape("p_token_ids", ids.shape(), Shape{ids.numel()});
        require_shape("p_token_counts", counts.shape(), ids.shape());
    }
    /// Refuses tokens outside of so many logits.
    void require(int64_t first, int64_t last, int64_t logits) const {
        for (int64_t i = first; i < last; ++i) {
            if (ids[i] >= 0 && ids[i] < logits) continue;
            refuse("p_token_ids holds " + std::to_string(ids[i]) + ", wanted 0 to " + std::to_string(logits - 1));
        }
    }
    [[nodiscard]] double count(int64_t i) const { return static_cast<double>(counts[i]); }
};

/// logits[b, t] -= count * frequency_penalty[b] + presence_penalty[b] for each token that row b lists.
diopiError_t apply_penalty(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t logits,
                           diopiConstTensorHandle_t presence_penalty, diopiConstTensorHandle_t frequency_penalty,
                           diopiConstTensorHandle_t p_token_ids, diopiConstTensorHandle_t p_token_counts,
                           diopiConstTensorHandle_t p_cumsum_seq_len, int32_t most) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> y = logits_of<T>(logits);
        const int64_t batch = y.size(0), vocab = y.size(1);
        const auto presence = floats_of<T>(presence_penalty, "presence_penalty", batch);
        const auto frequency = floats_of<T>(frequency_penalty, "frequency_penalty", batch);
        const Listed listed(p_token_ids, p_token_counts);
        const auto ends = integers_of(p_cumsum_seq_len, "p_cumsum_seq_len");
        require_shape("p_cumsum_seq_len", ends.shape(), Shape{batch + 1});
        for (int64_t b = 0; b < batch; ++b) {
            if (ends[b] < 0 || ends[b + 1] < ends[b] || ends[b + 1] > listed.ids.numel() ||
                ends[b + 1] - ends[b] > most) {
                refuse("p_cumsum_seq_len gives row " + std::to_string(b) + " the entries from " +
                       std::to_string(ends[b]) + " to " + std::to_string(ends[b + 1]) + ", wanted at most " +
                       std::to_string(most) + " of the " + std::to_string(listed.ids.numel()));
            }
            listed.require(ends[b], ends[b + 1], vocab);
        }
        for (int64_t b = 0; b < batch; ++b) {
            for (int64_t i = ends[b]; i < ends[b + 1]; ++i) {
                T& x = y[b * vocab + listed.ids[i]];
                x = x - (T(listed.count(i)) * frequency[b] + presence[b]);
            }
        }
        y.store();
    });
}

/// x = x > 0 ? x / repetition_penalty : x * repetition_penalty, then x -= count * frequency_penalty + presence_penalty,
/// for each listed place of the logits.
diopiError_t apply_penalty_v2(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t logits,
                              diopiConstTensorHandle_t presence_penalty, diopiConstTensorHandle_t frequency_penalty,
                              diopiConstTensorHandle_t repetition_penalty, diopiConstTensorHandle_t p_token_ids,
                              diopiConstTensorHandle_t p_token_counts) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> y = logits_of<T>(logits);
        const Listed listed(p_token_ids, p_token_counts);
        const int64_t count = listed.ids.numel();
        const auto presence = floats_of<T>(presence_penalty, "presence_penalty", count);
        const auto frequency = floats_of<T>(frequency_penalty, "frequency_penalty", count);
        const auto repetition = floats_of<T>(repetition_penalty, "repetition_penalty", count);
        listed.require(0, count, y.numel());
        for (int64_t i = 0; i < count; ++i) {
            T& x = y[listed.ids[i]];
            const T repeated = x > T(0) ? x / repetition[i] : x * repetition[i];
            x = repeated - (T(listed.count(i)) * frequency[i] + presence[i]);
        }
        y.store();
    });
}

/// The tokens of column b of ids, each once; rows from `length` to `longest` are padding.
std::set<int64_t> generated(const Operand<int64_t>& ids, int64_t b, int64_t step, int64_t length, int64_t longest) {
    std::set<int64_t> tokens;
    for (int64_t row = 0; row < step; ++row) {
        if (row < length || row >= longest) tokens.insert(ids[row * ids.size(1) + b]);
    }
    return tokens;
}

/// Each token of the vocabulary that a sequence contains, once: x - penalty (type 1); x * penalty below 0, else x /
/// penalty (type 2).
diopiError_t repetition_penalty(diopiContextHandle_t, std::string_view, diopiTensorHandle_t logits,
                                diopiConstTensorHandle_t penalties, diopiConstTensorHandle_t output_ids, int64_t batch,
                                int64_t vocab, diopiConstTensorHandle_t input_lengths, int64_t longest, int64_t step,
                                int64_t type) {
    return kernel([&] {
        Output<double> y = logits_of<double>(logits, batch, vocab);
        const auto penalty = floats_of<double>(penalties, "penalties", batch);
        const Operand<int64_t> ids = tokens_of(output_ids, "output_ids", step, batch);
        require_shape("output_ids", ids.shape(), Shape{ids.size(0), batch});
        const Operand<int64_t> lengths(input_lengths, "input_lengths?");
        if (lengths) require_shape("input_lengths", lengths.shape(), Shape{batch});
        if (type < 0 || type > 2) refuse("penalty_type is " + std::to_string(type) + ", wanted 0, 1 or 2");
        for (int64_t b = 0; b < batch && type != 0; ++b) {
            for (const int64_t token : generated(ids, b, step, lengths ? lengths[b] : longest, longest)) {
                if (token < 0 || token >= vocab) continue;
                double& x = y[b * vocab + token];
                x = type == 1 ? x - penalty[b] : x < 0 ? x * penalty[b] : x / penalty[b];
            }
        }
        y.store();
    });
}

/// (x + bias[v]) / (temperatures[b] + 1e-6) for v below vocab; the lowest finite number of the dtype from there on.
diopiError_t temperature_penalty(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t logits,
                                 diopiConstTensorHandle_t bias, diopiConstTensorHandle_t temperatures, int64_t batch,
                                 int64_t vocab, int64_t padded) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        Output<T> y = logits_of<T>(logits, batch, padded);
        const auto temperature = floats_of<T>(temperatures, "temperatures", batch);
        const Operand<T> shift(bias, "bias?");
        if (shift) require_shape("bias", shift.shape(), Shape{vocab});
        if (vocab < 0 || vocab > padded) refuse("vocab_size is " + std::to_string(vocab));
        const double lowest = -format_of(view_of(logits).dtype).largest;
        for (int64_t b = 0; b < batch; ++b) {
            for (int64_t v = 0; v < padded; ++v) {
                T& x = y[b * padded + v];
                if (v >= vocab)
                    x = T(lowest);
                else
                    x = (shift ? x + shift[v] : x) / (temperature[b] + T(1e-6));
            }
        }
        y.store();
    });
}

/// logits[b, last token of the word] = -inf where the tokens of sequence b end in the other tokens of the word.
diopiError_t ban_bad_words(diopiContextHandle_t, std::string_view, diopiTensorHandle_t logits,
                           diopiConstTensorHandle_t output_ids, diopiConstTensorHandle_t bad_words, int64_t first,
                           int64_t length, bool share_words, int64_t batch, int64_t vocab, int64_t step) {
    return kernel([&] {
        Output<double> y = logits_of<double>(logits, batch, vocab);
        if (first < 0) refuse("id_offset is " + std::to_string(first) + ", wanted 0 or more");
        const Operand<int64_t> ids = tokens_of(output_ids, "output_ids", step, first + batch);
        const Operand<int64_t> lists = integers_of(bad_words, "bad_words");
        require_shape("bad_words", lists.shape(), share_words ? Shape{2, length} : Shape{batch, 2, length});
        std::vector<std::vector<Word>> words;
        for (int64_t b = 0; b < batch; ++b) {
            words.push_back(words_of("bad_words", lists.data() + (share_words ? 0 : b * 2 * length), length));
        }
        for (int64_t b = 0; b < batch; ++b) {
            for (const Word word : words[static_cast<size_t>(b)]) {
                const int64_t banned = word.back();
                if (banned < 0 || banned >= vocab) continue;
                if (!ends_in(ids, first + b, step, word.first(word.size() - 1))) continue;
                y[b * vocab + banned] = -std::numeric_limits<double>::infinity();
            }
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/attention_penalty.inc"

}  // namespace diopi::reference
