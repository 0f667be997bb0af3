/// Keys and values in a cache: their storage, and the attention of one new query per sequence to them.
#include <cstring>

#include "kernels/cpu/attention_batch.hpp"
#include "kernels/cpu/elements.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/own_view.hpp"

namespace diopi::cpu {

namespace {

/// Whether the elements of each row are dense.
bool has_dense_rows(const View& rows) { return is_contiguous(rows.shape.subspan(1), rows.strides.subspan(1)); }

diopiError_t store_rows(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t k, diopiConstTensorHandle_t dest_loc) {
    const View cache = view(out), rows = view(k), at = view(dest_loc);
    std::span<const int64_t> slots;
    diopiError_t error = check_stored_rows(op, cache, rows, at);
    if (error == diopiSuccess) error = read_numbers(ctx, at, slots);
    if (error == diopiSuccess) error = check_distinct(op, "dest_loc", slots, cache.shape[0]);
    if (error != diopiSuccess || rows.numel == 0) return error;
    const bool is_dense = has_dense_rows(cache) && has_dense_rows(rows);
    const int64_t size = cache.shape[1] * cache.shape[2], item = cache.item_size();
    parallel_for(rows.shape[0], size, Loop::copy, [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
            const int64_t slot = slots[static_cast<size_t>(i)];
            if (is_dense) {
                std::memcpy(cache.data + slot * cache.strides[0] * item, rows.data + i * rows.strides[0] * item,
                            static_cast<size_t>(size * item));
            } else {
                OwnView from(rows), to(cache);
                copy(from.take(0, i, 1).view(), to.take(0, slot, 1).view());
            }
        }
    });
    return diopiSuccess;
}

/// The sequences of token attention.
struct TokenRows {
    std::span<const int64_t> slots, starts, lengths;
    int64_t columns = 0, longest = 0;

    [[nodiscard]] size_t batch() const { return lengths.size(); }
    /// The slots of sequence b.
    [[nodiscard]] KeyRows keys(size_t b) const {
        const int64_t first = static_cast<int64_t>(b) * columns + longest - lengths[b];
        return {slots.data() + first, 1, 0, lengths[b]};
    }
    [[nodiscard]] int64_t tokens() const { return std::reduce(lengths.begin(), lengths.end()); }
};

/// Checks the arguments and reads the numbers among them.
diopiError_t read_tokens(diopiContextHandle_t ctx, const TokenAttention& a, TokenRows& rows) {
    diopiError_t error = check_token_attention(a);
    if (error == diopiSuccess) error = read_numbers(ctx, a.b_loc, rows.slots);
    if (error == diopiSuccess) error = read_numbers(ctx, a.b_start_loc, rows.starts);
    if (error == diopiSuccess) error = read_numbers(ctx, a.b_seq_len, rows.lengths);
    if (error == diopiSuccess) {
        error = check_sequences(a.op, rows.starts, rows.lengths, a.max_input_len, a.scores.view.shape[1]);
    }
    if (error != diopiSuccess) return error;
    rows.columns = a.b_loc.shape[1];
    rows.longest = a.max_input_len;
    for (size_t b = 0; b < rows.batch() && error == diopiSuccess; ++b) {
        error = check_pages(a.op, "b_loc", rows.keys(b), a.cache.view.shape[0]);
    }
    return error;
}

template <class E>
diopiError_t run_scores(diopiContextHandle_t ctx, const TokenAttention& a, const TokenRows& tokens) {
    Staging staging(ctx);
    const int64_t heads = a.cache.view.shape[1], columns = a.scores.view.shape[1];
    auto all = attended<E>({heads, heads, a.cache.view.shape[2]});
    const E* q = staging.in<E>(a.rows.view);
    all.k = staging.in<E>(a.cache.view);
    E* scores = staging.out<E>(a.scores.view);
    if (staging.error() != diopiSuccess) return staging.error();
    if (tokens.tokens() < columns) std::fill_n(scores, a.scores.view.numel, E{});
    std::vector<AttendedRows<E>> sequences(tokens.batch(), all);
    for (size_t b = 0; b < sequences.size(); ++b) {
        sequences[b].q = q + static_cast<int64_t>(b) * heads * all.dim;
        sequences[b].v = all.k;
        sequences[b].keys = tokens.keys(b);
        sequences[b].scores_out = scores + tokens.starts[b];
        sequences[b].scores_pitch = columns;
    }
    run_sequences<E>(staging, sequences, attention_kernels<E>().score);
    return staging.finish();
}

diopiError_t token_scores(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t b_loc,
                          diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                          int64_t max_input_len) {
    const TokenAttention a{op,          {"q", view(q)},    {"k", view(k)},  {"token_attention_out", view(out)},
                           view(b_loc), view(b_start_loc), view(b_seq_len), max_input_len};
    const Named same[] = {a.rows, a.cache};
    TokenRows tokens;
    diopiError_t error = check_one_dtype(op, same);
    if (error == diopiSuccess) error = check_computable(op, a.scores.argument, a.scores.view);
    if (error == diopiSuccess) error = read_tokens(ctx, a, tokens);
    if (error != diopiSuccess || a.scores.view.numel == 0) return error;
    return with_elements({a.rows.view.dtype, a.scores.view.dtype},
                         [&]<class E, class>() { return run_scores<E>(ctx, a, tokens); });
}

template <class E>
diopiError_t run_values(diopiContextHandle_t ctx, const TokenAttention& a, const TokenRows& tokens) {
    Staging staging(ctx);
    const int64_t heads = a.cache.view.shape[1], columns = a.scores.view.shape[1];
    auto all = attended<E>({heads, heads, a.cache.view.shape[2]});
    all.scale = 1;
    const E* scores = staging.in<E>(a.scores.view);
    all.v = all.k = staging.in<E>(a.cache.view);
    E* out = staging.out<E>(a.rows.view);
    if (staging.error() != diopiSuccess) return staging.error();
    std::vector<AttendedRows<E>> sequences(tokens.batch(), all);
    for (size_t b = 0; b < sequences.size(); ++b) {
        sequences[b].out = out + static_cast<int64_t>(b) * heads * all.dim;
        sequences[b].keys = tokens.keys(b);
        sequences[b].scores = scores + tokens.starts[b];
        sequences[b].scores_pitch = columns;
    }
    run_sequences<E>(staging, sequences, attention_kernels<E>().attend);
    return staging.finish();
}

diopiError_t token_values(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t logics, diopiConstTensorHandle_t v, diopiConstTensorHandle_t b_loc,
                          diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                          int64_t max_input_len, int64_t) {
    const TokenAttention a{op,          {"out", view(out)}, {"v", view(v)},  {"logics", view(logics)},
                           view(b_loc), view(b_start_loc),  view(b_seq_len), max_input_len};
    const Named same[] = {a.cache, a.scores};
    TokenRows tokens;
    diopiError_t error = check_one_dtype(op, same);
    if (error == diopiSuccess) error = check_computable(op, a.rows.argument, a.rows.view);
    if (error == diopiSuccess) error = read_tokens(ctx, a, tokens);
    if (error != diopiSuccess || a.rows.view.numel == 0) return error;
    return with_elements({a.cache.view.dtype, a.rows.view.dtype},
                         [&]<class E, class>() { return run_values<E>(ctx, a, tokens); });
}

template <class E>
diopiError_t run_paged(diopiContextHandle_t ctx, const PagedAttention& a, std::span<const KeyRows> keys,
                       const View& hidden) {
    Staging staging(ctx);
    auto all = attended<E>(a.heads);
    const E* q = staging.in<E>(a.q);
    all.k = staging.in<E>(a.k);
    all.v = staging.in<E>(a.v);
    E* out = staging.out<E>(a.out);
    if (staging.error() != diopiSuccess) return staging.error();
    std::vector<AttendedRows<E>> sequences(keys.size(), all);
    for (size_t b = 0; b < keys.size(); ++b) {
        const auto number = static_cast<int64_t>(b);
        sequences[b].q = q + number * a.heads.count * a.heads.dim;
        sequences[b].out = out + number * a.heads.count * a.heads.dim;
        sequences[b].keys = keys[b];
        if (hidden.data != nullptr) sequences[b].hidden = hidden.as<uint8_t>() + number * hidden.shape[1];
    }
    run_sequences<E>(staging, sequences, attention_kernels<E>().attend);
    return staging.finish();
}

diopiError_t paged_attention(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
                             diopiConstTensorHandle_t attenMask, diopiSize_t actual_seq_lengths, int64_t num_heads,
                             int64_t num_kv_heads, int64_t dim, diopiConstTensorHandle_t block_table,
                             int64_t block_size) {
    const PagedAttention a{op,
                           view(out),
                           view(q),
                           view(k),
                           view(v),
                           attenMask,
                           list_of(actual_seq_lengths),
                           {num_heads, num_kv_heads, dim},
                           view(block_table),
                           block_size};
    View hidden;
    std::span<const int64_t> table;
    diopiError_t error = check_paged_attention(a);
    if (error == diopiSuccess) error = read_numbers(ctx, a.block_table, table);
    if (error == diopiSuccess && attenMask != nullptr) error = contiguous(ctx, view(attenMask), hidden);
    std::vector<KeyRows> keys;
    for (size_t b = 0; b < a.lengths.size() && error == diopiSuccess; ++b) {
        keys.push_back({table.data() + static_cast<int64_t>(b) * a.block_table.shape[1], block_size, 0, a.lengths[b]});
        error = check_pages(op, "block_table", keys.back(), a.k.shape[0]);
    }
    if (error != diopiSuccess || a.out.numel == 0) return error;
    return with_elements({a.q.dtype, a.out.dtype},
                         [&]<class E, class>() { return run_paged<E>(ctx, a, keys, hidden); });
}

}  // namespace

#include "kernels/entries/attention_cache.inc"

}  // namespace diopi::cpu
