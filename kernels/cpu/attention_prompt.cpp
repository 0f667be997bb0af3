/// Attention within concatenated prompts.
#include "kernels/cpu/attention_batch.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The tensors of prompts and the rows of their sequences.
struct Prompts {
    View out, q, k, v;
    Heads heads;
    std::vector<KeyRows> sequences;
    bool causal = false;
    View hidden{};  ///< (batch, n, n); without data: none
};

template <class E>
diopiError_t run_prompts(diopiContextHandle_t ctx, const Prompts& a) {
    Staging staging(ctx);
    auto all = attended<E>(a.heads);
    const E* q = staging.in<E>(a.q);
    all.k = staging.in<E>(a.k);
    all.v = staging.in<E>(a.v);
    E* out = staging.out<E>(a.out);
    if (staging.error() != diopiSuccess) return staging.error();
    all.causal = a.causal;
    std::vector<AttendedRows<E>> sequences(a.sequences.size(), all);
    int64_t rows = 0;
    for (size_t b = 0; b < sequences.size(); ++b) {
        const KeyRows& keys = a.sequences[b];
        const int64_t at = keys.first * a.heads.count * a.heads.dim;
        sequences[b].q = q + at;
        sequences[b].out = out + at;
        sequences[b].keys = keys;
        sequences[b].queries = keys.count;
        rows += keys.count;
        if (a.hidden.data == nullptr) continue;
        const int64_t pitch = a.hidden.shape[2];
        sequences[b].hidden = a.hidden.as<uint8_t>() + static_cast<int64_t>(b) * pitch * pitch;
        sequences[b].hidden_pitch = pitch;
    }
    if (rows < a.out.shape[0]) std::fill_n(out, a.out.numel, E{});
    run_sequences<E>(staging, sequences, attention_kernels<E>().attend);
    return staging.finish();
}

diopiError_t run_prompts(diopiContextHandle_t ctx, const Prompts& a) {
    if (a.out.numel == 0) return diopiSuccess;
    return with_elements({a.q.dtype, a.out.dtype}, [&]<class E, class>() { return run_prompts<E>(ctx, a); });
}

diopiError_t context_attention(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
                               diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                               int64_t max_input_len) {
    const ContextAttention a{op, view(out), view(q), view(k), view(v), view(b_start_loc), view(b_seq_len)};
    std::span<const int64_t> starts, lengths;
    diopiError_t error = check_context_attention(a);
    if (error == diopiSuccess) error = read_numbers(ctx, a.b_start_loc, starts);
    if (error == diopiSuccess) error = read_numbers(ctx, a.b_seq_len, lengths);
    if (error == diopiSuccess) error = check_sequences(op, starts, lengths, max_input_len, a.q.shape[0]);
    if (error != diopiSuccess) return error;
    Prompts prompts{a.out, a.q, a.k, a.v, {a.q.shape[1], a.q.shape[1], a.q.shape[2]}, {}, true};
    for (size_t b = 0; b < starts.size(); ++b) prompts.sequences.push_back({nullptr, 1, starts[b], lengths[b]});
    return run_prompts(ctx, prompts);
}

diopiError_t prompt_attention(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t query, diopiConstTensorHandle_t key,
                              diopiConstTensorHandle_t value, diopiConstTensorHandle_t atten_mask,
                              diopiSize_t actual_seq_lengths, int64_t max_input_len, int64_t num_heads,
                              int64_t num_kv_heads, int64_t dim) {
    const PromptAttention a{op,
                            view(out),
                            view(query),
                            view(key),
                            view(value),
                            atten_mask,
                            list_of(actual_seq_lengths),
                            max_input_len,
                            {num_heads, num_kv_heads, dim}};
    Prompts prompts{a.out, a.query, a.key, a.value, a.heads, {}};
    diopiError_t error = check_prompt_attention(a);
    if (error == diopiSuccess && atten_mask != nullptr) error = contiguous(ctx, view(atten_mask), prompts.hidden);
    if (error != diopiSuccess) return error;
    int64_t first = 0;
    for (const int64_t length : a.lengths) {
        prompts.sequences.push_back({nullptr, 1, first, length});
        first += length;
    }
    return run_prompts(ctx, prompts);
}

}  // namespace

#include "kernels/entries/attention_prompt.inc"

}  // namespace diopi::cpu
