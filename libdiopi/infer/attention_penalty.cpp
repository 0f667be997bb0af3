/// The shapes of functions that change logits in place before a token is drawn.
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The functions change logits only.
Specs unless(const Call& call, const std::optional<std::string>& wrong) {
    if (wrong) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

/// The message for columns of a table of tokens that are not there.
std::optional<std::string> lacks_tokens(const Call& call, int64_t first, int64_t batch, int64_t rows) {
    const Tensor& ids = *call.tensor("output_ids");
    const bool has_rows = ids.rank() == 2 && rows >= 0 && rows <= ids.shape[0];
    if (has_rows && first >= 0 && batch >= 0 && batch <= ids.shape[1] - first) return std::nullopt;
    return "output_ids " + to_string(ids.shape) + " must have at least " + std::to_string(rows) + " rows, and " +
           std::to_string(batch) + " columns from column " + std::to_string(first) + " on";
}

}  // namespace

/// Source: apply_penalty of LightLLM.
Specs apply_penalty(Call& call, const ResultHints&) {
    const Tensor &logits = *call.tensor("logits"), &ids = *call.tensor("p_token_ids");
    if (logits.rank() != 2 || ids.rank() != 1) {
        return contradiction(call, "logits " + to_string(logits.shape) + " must be (batch, vocab) and p_token_ids " +
                                       to_string(ids.shape) + " (n)");
    }
    const int64_t batch = logits.shape[0];
    auto wrong = wrong_shape(call, {"presence_penalty", "frequency_penalty"}, "the rows of logits,", {batch});
    if (!wrong) wrong = wrong_shape(call, {"p_token_counts"}, "the shape of p_token_ids", ids.shape);
    if (!wrong) wrong = wrong_shape(call, {"p_cumsum_seq_len"}, "the rows of logits and one more,", {batch + 1});
    return unless(call, wrong);
}

/// Source: apply_penalty of LightLLM.
Specs apply_penalty_v2(Call& call, const ResultHints&) {
    const Tensor &logits = *call.tensor("logits"), &ids = *call.tensor("p_token_ids");
    if (logits.rank() != 2 || ids.rank() != 1) {
        return contradiction(call, "logits " + to_string(logits.shape) + " must be (batch, vocab) and p_token_ids " +
                                       to_string(ids.shape) + " (n)");
    }
    return unless(call,
                  wrong_shape(call, {"presence_penalty", "frequency_penalty", "repetition_penalty", "p_token_counts"},
                              "the shape of p_token_ids", ids.shape));
}

/// Source: lmdeploy/turbomind.
Specs repetition_penalty(Call& call, const ResultHints&) {
    const int64_t batch = call.integer("batch_size"), type = call.integer("penalty_type");
    if (type < 0 || type > 2) {
        return contradiction(call, "penalty_type is " + std::to_string(type) + ", wanted 0, 1 or 2");
    }
    auto wrong = wrong_shape(call, {"logits"}, "batch_size and vocab_size,", {batch, call.integer("vocab_size")});
    if (!wrong) wrong = wrong_shape(call, {"penalties", "input_lengths"}, "batch_size,", {batch});
    const Tensor& ids = *call.tensor("output_ids");
    if (!wrong && (ids.rank() != 2 || ids.shape[1] != batch || call.integer("step") > ids.shape[0])) {
        wrong = "output_ids " + to_string(ids.shape) + " must have batch_size " + std::to_string(batch) +
                " columns and at least step " + std::to_string(call.integer("step")) + " rows";
    }
    return unless(call, wrong);
}

/// Source: lmdeploy/turbomind.
Specs temperature_penalty(Call& call, const ResultHints&) {
    const int64_t batch = call.integer("batch_size"), vocab = call.integer("vocab_size");
    const int64_t padded = call.integer("vocab_size_padd");
    if (vocab > padded) {
        return contradiction(call, "vocab_size_padd " + std::to_string(padded) + " must be at least vocab_size " +
                                       std::to_string(vocab));
    }
    auto wrong = wrong_shape(call, {"logits"}, "batch_size and vocab_size_padd,", {batch, padded});
    if (!wrong) wrong = wrong_shape(call, {"temperatures"}, "batch_size,", {batch});
    if (!wrong) wrong = wrong_shape(call, {"bias"}, "vocab_size,", {vocab});
    return unless(call, wrong);
}

/// Source: lmdeploy/turbomind.
Specs ban_bad_words(Call& call, const ResultHints&) {
    const int64_t batch = call.integer("batch_size"), length = call.integer("bad_words_len");
    const Shape words = call.flag("share_words") ? Shape{2, length} : Shape{batch, 2, length};
    auto wrong = wrong_shape(call, {"logits"}, "batch_size and vocab_size,", {batch, call.integer("vocab_size")});
    if (!wrong) wrong = wrong_shape(call, {"bad_words"}, "tokens and ends of bad_words_len words,", words);
    if (!wrong) wrong = lacks_tokens(call, call.integer("id_offset"), batch, call.integer("step"));
    return unless(call, wrong);
}

}  // namespace diopi::infer_rules
