/// The arguments of whole attention layers, with their projections and caches, checked. Shared by the backends cpu and
/// cuda.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/operands/attention_rows.hpp"

namespace diopi::operands {

/// The arguments of diopiFusedContextAttentionInp and diopiFusedDecoderAttentionInp.
struct FusedAttention {
    std::string_view op;
    View inoutput, qkv_weight;
    diopiConstTensorHandle_t qkv_bias = nullptr;
    View key_cache, value_cache;
    int64_t layer_id = 0;
    Heads heads;
    int64_t max_seq_len = 0;
    int64_t rotated = 0;  ///< numbers of a head
    double theta = 0;
    int64_t queries = 1;  ///< new tokens of each sequence

    [[nodiscard]] int64_t batch() const { return key_cache.shape[1]; }
    [[nodiscard]] int64_t tokens() const { return batch() * queries; }
    /// Numbers of q of a token, and of q, k and v.
    [[nodiscard]] int64_t width() const { return heads.count * heads.dim; }
    [[nodiscard]] int64_t columns() const { return (heads.count + 2 * heads.keys) * heads.dim; }
};
/// Refuses tensors, heads and numbers that do not fit one another.
[[nodiscard]] diopiError_t check_fused_attention(const FusedAttention& a);
/// Refuses lengths of prompts that do not fit the caches.
[[nodiscard]] diopiError_t check_prompt_lengths(const FusedAttention& a, int64_t max_kv_len);

/// The new tokens of a sequence.
struct NewTokens {
    int64_t sequence = 0;
    int64_t stored = 0;    ///< tokens before them, so the position of the first one in the caches
    int64_t position = 0;  ///< by which the first one is rotated
};

/// The sequences at a step of a generation. Without the tensor of `finished`, no sequence is finished; without that of
/// `padding`, none has padding.
struct Step {
    std::span<const uint8_t> finished;
    std::span<const int64_t> padding, lengths;
    int64_t step = 0;
};
/// Refuses tensors that are not of one element for each sequence.
[[nodiscard]] diopiError_t check_step(const FusedAttention& a, diopiConstTensorHandle_t finished,
                                      diopiConstTensorHandle_t total_padding_tokens, const View& sequence_lengths);
/// The tokens of the sequences that are not finished. Refuses lengths that leave the step or the caches.
[[nodiscard]] diopiError_t new_tokens(const FusedAttention& a, const Step& step, std::vector<NewTokens>& tokens);

}  // namespace diopi::operands
