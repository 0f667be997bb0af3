#include "kernels/operands/attention_fused.hpp"

#include <algorithm>
#include <string>

#include "kernels/operands/attention_decode.hpp"

namespace diopi::operands {

namespace {

diopiError_t check_heads(const FusedAttention& a) {
    constexpr int64_t kMost = 1 << 30;  // of which products do not overflow
    const auto& [count, keys, dim] = a.heads;
    if (count >= 1 && keys >= 1 && dim >= 1 && count <= kMost && dim <= kMost && count % keys == 0) return diopiSuccess;
    return refuse(a.op, "local_head_num is " + std::to_string(count) + ", local_kv_head_num " + std::to_string(keys) +
                            " and size_per_head " + std::to_string(dim) +
                            ", wanted positive numbers, the first a multiple of the second");
}

diopiError_t check_rotation(const FusedAttention& a) {
    if (a.rotated < 0 || a.rotated > a.heads.dim || a.rotated % 2 != 0) {
        return refuse(a.op, "rotary_embedding is " + std::to_string(a.rotated) +
                                ", wanted an even number, 0 to size_per_head " + std::to_string(a.heads.dim));
    }
    return a.theta > 0 ? diopiSuccess
                       : refuse(a.op, "rope_theta is " + std::to_string(a.theta) + ", wanted a number over 0");
}

diopiError_t check_caches(const FusedAttention& a) {
    const View& keys = a.key_cache;
    if (keys.rank() != 5) {
        return wrong_shape(a.op, "key_cache", keys.shape,
                           "(layers, batch, local_kv_head_num, max_seq_len, size_per_head)");
    }
    const Shape wanted = {keys.shape[0], keys.shape[1], a.heads.keys, a.max_seq_len, a.heads.dim};
    diopiError_t error = check_shape(a.op, "key_cache", keys, wanted);
    if (error == diopiSuccess) error = check_shape(a.op, "value_cache", a.value_cache, wanted);
    if (error != diopiSuccess || (a.layer_id >= 0 && a.layer_id < keys.shape[0])) return error;
    return refuse(a.op, "layer_id is " + std::to_string(a.layer_id) + ", wanted one of " +
                            std::to_string(keys.shape[0]) + " layers");
}

}  // namespace

diopiError_t check_fused_attention(const FusedAttention& a) {
    for (const Named& each : {Named{"inoutput", a.inoutput},
                              {"qkv_weight", a.qkv_weight},
                              {"key_cache", a.key_cache},
                              {"value_cache", a.value_cache}}) {
        if (const diopiError_t error = check_computable(a.op, each.argument, each.view); error != diopiSuccess) {
            return error;
        }
    }
    diopiError_t error = check_heads(a);
    if (error == diopiSuccess) error = check_rotation(a);
    if (error == diopiSuccess) error = check_caches(a);
    if (error == diopiSuccess) error = check_shape(a.op, "inoutput", a.inoutput, Shape{a.tokens(), a.width()});
    if (error == diopiSuccess) error = check_shape(a.op, "qkv_weight", a.qkv_weight, Shape{a.width(), a.columns()});
    if (error != diopiSuccess || a.qkv_bias == nullptr) return error;
    const View bias = view(a.qkv_bias);
    error = check_computable(a.op, "qkv_bias", bias);
    const bool is_row = bias.rank() == 2 && bias.shape[0] == 1 && bias.shape[1] == a.columns();
    return error != diopiSuccess || is_row ? error : check_shape(a.op, "qkv_bias", bias, Shape{a.columns()});
}

diopiError_t check_prompt_lengths(const FusedAttention& a, int64_t max_kv_len) {
    if (a.queries >= 0 && a.queries <= max_kv_len && max_kv_len <= a.max_seq_len) return diopiSuccess;
    return refuse(a.op, "max_q_len is " + std::to_string(a.queries) + ", max_kv_len " + std::to_string(max_kv_len) +
                            " and max_seq_len " + std::to_string(a.max_seq_len) +
                            ", wanted 0 or more, none above the next");
}

diopiError_t check_step(const FusedAttention& a, diopiConstTensorHandle_t finished,
                        diopiConstTensorHandle_t total_padding_tokens, const View& sequence_lengths) {
    const Shape each = {a.batch()};
    diopiError_t error = check_numbers(a.op, "sequence_lengths", sequence_lengths, each);
    if (error == diopiSuccess && total_padding_tokens != nullptr) {
        error = check_numbers(a.op, "total_padding_tokens", view(total_padding_tokens), each);
    }
    if (error != diopiSuccess || finished == nullptr) return error;
    return check_flags(a.op, "finished", view(finished), a.batch());
}

diopiError_t new_tokens(const FusedAttention& a, const Step& step, std::vector<NewTokens>& tokens) {
    const int64_t room = std::min(step.step, a.max_seq_len);
    for (size_t b = 0; b < step.lengths.size(); ++b) {
        if (!step.finished.empty() && step.finished[b] != 0) continue;
        const int64_t length = step.lengths[b], padding = step.padding.empty() ? 0 : step.padding[b];
        if (length < 0 || length >= room) {
            return refuse(a.op, "sequence_lengths holds " + std::to_string(length) + ", wanted 0 to " +
                                    std::to_string(room - 1) + ", below step and max_seq_len");
        }
        tokens.push_back({static_cast<int64_t>(b), length, step.step - 1 - padding});
    }
    return diopiSuccess;
}

}  // namespace diopi::operands
