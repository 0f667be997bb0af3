/// Whole attention layers: a product of oneDNN, or of our own in float64, gives q, k and v of the new tokens; q and k
/// are rotated where they lie, k and v go to the caches, and the attention reads all keys and values there.
#include <cmath>
#include <vector>

#include "kernels/cpu/attention_batch.hpp"
#include "kernels/cpu/attention_rotary_rows.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/product.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/attention_fused.hpp"
#include "kernels/operands/linear.hpp"
#include "kernels/operands/own_view.hpp"
#include "kernels/operands/workspace.hpp"

namespace diopi::cpu {

namespace {

using Sequences = std::span<const NewTokens>;

/// Dense elements in memory that is no tensor.
template <class T>
OwnView dense(T* data, const Shape& shape) {
    const Shape strides = contiguous_strides(shape);
    return OwnView({reinterpret_cast<std::byte*>(data), kComputeDtype<T>, shape, strides, numel(shape)});
}

/// Bytes of q, k and v of the new tokens, and of the way to an aligned address.
int64_t workspace_of(const FusedAttention& a, bool wide) {
    const int64_t numel = a.tokens() * a.columns();
    return numel == 0 ? 0 : numel * (wide ? 8 : 4) + kWorkspaceAlignment;
}

/// qkv = inoutput qkv_weight + qkv_bias, of factors that have elements P.
template <class P, class T>
diopiError_t project_as(diopiContextHandle_t ctx, const FusedAttention& a, T* qkv) {
    Staging staging(ctx);
    const auto* x = staging.in<P>(a.inoutput);
    const auto* weight = staging.in<P>(a.qkv_weight);
    const auto* bias = staging.in<T>(a.qkv_bias);
    if (staging.error() != diopiSuccess) return staging.error();
    return product(ctx, {a.tokens(), a.columns(), a.width()}, Matrices<P>{x}, Matrices<P>{weight}, bias, qkv);
}

template <class T>
diopiError_t project(diopiContextHandle_t ctx, const FusedAttention& a, T* qkv) {
    if constexpr (std::is_same_v<T, float>) {
        if (takes_bfloat16(a.tokens(), a.inoutput, a.qkv_weight)) return project_as<Bfloat16>(ctx, a, qkv);
    }
    return project_as<T>(ctx, a, qkv);
}

/// Rotates the heads of q and k, which lie side by side. `room` takes 2 * a.rotated numbers for each token.
template <class T>
void rotate(const FusedAttention& a, Sequences sequences, T* qkv, T* room) {
    std::vector<double> speeds;  // of the pairs: angle for each position
    for (int64_t i = 0; i < a.rotated; i += 2) {
        speeds.push_back(std::pow(a.theta, -static_cast<double>(i) / static_cast<double>(a.rotated)));
    }
    const auto rotate_row = std::get<RotaryKernels<T, T>>(rotary_table()).interleaved;
    const int64_t heads = a.heads.count + a.heads.keys;
    parallel_for(std::ssize(sequences) * a.queries, a.columns(), [&](int64_t first, int64_t last) {
        for (int64_t n = first; n < last; ++n) {
            const NewTokens& tokens = sequences[static_cast<size_t>(n / a.queries)];
            const int64_t number = n % a.queries;
            T *cos = room + 2 * n * a.rotated, *sin = cos + a.rotated;
            for (size_t i = 0; i < speeds.size(); ++i) {
                const double angle = static_cast<double>(tokens.position + number) * speeds[i];
                cos[2 * i] = cos[2 * i + 1] = static_cast<T>(std::cos(angle));
                sin[2 * i + 1] = static_cast<T>(std::sin(angle));
                sin[2 * i] = -sin[2 * i + 1];
            }
            T* row = qkv + (tokens.sequence * a.queries + number) * a.columns();
            for (int64_t h = 0; h < heads; ++h) {
                T* head = row + h * a.heads.dim;
                rotate_row(head, cos, sin, head, a.rotated);
            }
        }
    });
}

/// The slice of the layer in a cache: (batch, heads, max_seq_len, dim).
OwnView layer_of(const FusedAttention& a, const View& cache) {
    OwnView layer(cache);
    layer.take(0, a.layer_id, 1).remove(0);
    return layer;
}

/// Stores the heads of the new tokens from `head` on: those of k or of v.
template <class T>
void store(const FusedAttention& a, Sequences sequences, T* qkv, int64_t head, const View& cache) {
    const OwnView all = dense(qkv, {a.batch(), a.queries, a.heads.count + 2 * a.heads.keys, a.heads.dim});
    const OwnView layer = layer_of(a, cache);
    for (const NewTokens& tokens : sequences) {
        OwnView from = all, to = layer;
        from.take(0, tokens.sequence, 1).remove(0).take(1, head, a.heads.keys).swap(0, 1);
        to.take(0, tokens.sequence, 1).remove(0).take(1, tokens.stored, a.queries);
        copy(from.view(), to.view());
    }
}

/// Attention of the new queries, all in the caches' order: a head of the keys has its queries one after the other, and
/// each query its group of heads.
template <class E, class T>
diopiError_t attend(diopiContextHandle_t ctx, const FusedAttention& a, Sequences sequences, T* qkv) {
    Staging staging(ctx);
    const int64_t batch = a.batch(), group_width = a.heads.group() * a.heads.dim;
    const OwnView keys = layer_of(a, a.key_cache), values = layer_of(a, a.value_cache);
    auto all = attended<E>({a.heads.group(), 1, a.heads.dim});
    all.k = staging.in<E>(keys.view());
    all.v = staging.in<E>(values.view());
    E* queries = staging.buffer<E>(a.tokens() * a.width());
    E* results = staging.buffer<E>(a.tokens() * a.width());
    if (staging.error() != diopiSuccess) return staging.error();
    const Shape by_head = {batch, a.heads.keys, a.queries, group_width};
    OwnView projected = dense(qkv, {batch, a.queries, a.heads.count + 2 * a.heads.keys, a.heads.dim});
    projected.take(2, 0, a.heads.keys, a.heads.group()).remove(3).insert(3, group_width, 1).swap(1, 2);
    copy(projected.view(), dense(queries, by_head).view());
    std::vector<AttendedRows<E>> rows;
    for (const NewTokens& tokens : sequences) {
        for (int64_t h = 0; h < a.heads.keys; ++h) {
            const int64_t number = tokens.sequence * a.heads.keys + h, query = number * a.queries * group_width;
            AttendedRows<E>& head = rows.emplace_back(all);
            head.q = queries + query;
            head.out = results + query;
            head.keys = {nullptr, 1, number * a.max_seq_len, tokens.stored + a.queries};
            head.causal = true;
            head.history = tokens.stored;
            head.queries = a.queries;
        }
    }
    run_sequences<E>(staging, rows, attention_kernels<E>().attend);
    if (staging.error() != diopiSuccess) return staging.error();
    for (const NewTokens& tokens : sequences) {
        OwnView from = dense(results, by_head), to(a.inoutput);
        from.take(0, tokens.sequence, 1).remove(0).swap(0, 1);
        const int64_t step = to.stride(1);
        to.take(0, tokens.sequence * a.queries, a.queries).remove(1);
        to.insert(1, a.heads.keys, group_width * step).insert(2, group_width, step);
        copy(from.view(), to.view());
    }
    return staging.finish();
}

template <class E, class T>
diopiError_t run_layer(diopiContextHandle_t ctx, const FusedAttention& a, Sequences sequences, std::byte* workspace) {
    T* qkv = aligned<T>(workspace);
    if (const diopiError_t error = project(ctx, a, qkv); error != diopiSuccess) return error;
    Staging staging(ctx);
    T* room = staging.buffer<T>(std::ssize(sequences) * a.queries * 2 * a.rotated);
    if (staging.error() != diopiSuccess) return staging.error();
    rotate(a, sequences, qkv, room);
    store(a, sequences, qkv, a.heads.count, a.key_cache);
    store(a, sequences, qkv, a.heads.count + a.heads.keys, a.value_cache);
    return attend<E>(ctx, a, sequences, qkv);
}

bool is_wide(const FusedAttention& a) {
    return computes_in_float64({a.inoutput, a.qkv_weight, a.key_cache, a.value_cache});
}

/// Runs a layer whose arguments are checked.
diopiError_t run_layer(diopiContextHandle_t ctx, const FusedAttention& a, Sequences sequences,
                       diopiTensorHandle_t workspace, int64_t bytes) {
    std::byte* memory = nullptr;
    const diopiError_t error = read_workspace(a.op, "workspace", workspace, bytes, workspace_of(a, is_wide(a)), memory);
    if (error != diopiSuccess || a.tokens() == 0 || sequences.empty()) return error;
    return with_elements({a.inoutput.dtype, a.qkv_weight.dtype, a.key_cache.dtype, a.value_cache.dtype},
                         [&]<class E, class T>() { return run_layer<E, T>(ctx, a, sequences, memory); });
}

diopiError_t prompt_layer(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput,
                          diopiConstTensorHandle_t qkv_weight, diopiConstTensorHandle_t qkv_bias, diopiTensorHandle_t,
                          int64_t* pre_work_size, bool, diopiTensorHandle_t workspace, int64_t* workspace_size, int64_t,
                          diopiTensorHandle_t key_cache, diopiTensorHandle_t value_cache, int64_t layer_id,
                          int64_t local_head_num, int64_t local_kv_head_num, int64_t size_per_head, int64_t max_seq_len,
                          int64_t max_q_len, int64_t max_kv_len, int64_t rotary_embedding, float rope_theta) {
    const FusedAttention a{op,
                           view(inoutput),
                           view(qkv_weight),
                           qkv_bias,
                           view(key_cache),
                           view(value_cache),
                           layer_id,
                           {local_head_num, local_kv_head_num, size_per_head},
                           max_seq_len,
                           rotary_embedding,
                           static_cast<double>(rope_theta),
                           max_q_len};
    diopiError_t error = check_fused_attention(a);
    if (error == diopiSuccess) error = check_prompt_lengths(a, max_kv_len);
    if (error != diopiSuccess) return error;
    if (*pre_work_size < 0 || *workspace_size < 0) {
        *pre_work_size = 0;
        *workspace_size = workspace_of(a, is_wide(a));
        return diopiSuccess;
    }
    std::vector<NewTokens> sequences;
    const int64_t stored = max_kv_len - max_q_len;
    for (int64_t b = 0; b < a.batch(); ++b) sequences.push_back({b, stored, stored});
    return run_layer(ctx, a, sequences, workspace, *workspace_size);
}

diopiError_t step_layer(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t inoutput,
                        diopiConstTensorHandle_t qkv_weight, diopiConstTensorHandle_t qkv_bias,
                        diopiTensorHandle_t workspace, int64_t* workspace_size, int64_t, diopiTensorHandle_t key_cache,
                        diopiTensorHandle_t value_cache, diopiConstTensorHandle_t finished,
                        diopiConstTensorHandle_t total_padding_tokens, diopiConstTensorHandle_t sequence_lengths,
                        int64_t step, int64_t layer_id, int64_t local_head_num, int64_t local_kv_head_num,
                        int64_t size_per_head, int64_t max_seq_len, int64_t rotary_embedding, float rope_theta) {
    const FusedAttention a{op,
                           view(inoutput),
                           view(qkv_weight),
                           qkv_bias,
                           view(key_cache),
                           view(value_cache),
                           layer_id,
                           {local_head_num, local_kv_head_num, size_per_head},
                           max_seq_len,
                           rotary_embedding,
                           static_cast<double>(rope_theta)};
    diopiError_t error = check_fused_attention(a);
    if (error == diopiSuccess) error = check_step(a, finished, total_padding_tokens, view(sequence_lengths));
    if (error != diopiSuccess || asks_for_size(*workspace_size, workspace_of(a, is_wide(a)))) return error;
    Step known{{}, {}, {}, step};
    error = read_numbers(ctx, view(sequence_lengths), known.lengths);
    if (error == diopiSuccess && total_padding_tokens != nullptr) {
        error = read_numbers(ctx, view(total_padding_tokens), known.padding);
    }
    View flags;
    if (error == diopiSuccess && finished != nullptr) error = contiguous(ctx, view(finished), flags);
    if (error != diopiSuccess) return error;
    known.finished = {flags.as<uint8_t>(), static_cast<size_t>(flags.numel)};
    std::vector<NewTokens> sequences;
    error = new_tokens(a, known, sequences);
    return error != diopiSuccess ? error : run_layer(ctx, a, sequences, workspace, *workspace_size);
}

}  // namespace

#include "kernels/entries/attention_fused.inc"

}  // namespace diopi::cpu
