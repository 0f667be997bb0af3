/// Keys and values in a cache: their storage, and the attention of one new query per sequence to them.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

int64_t require_slot(int64_t slot, int64_t slots) {
    if (slot >= 0 && slot < slots) return slot;
    refuse("slot " + std::to_string(slot) + " does not exist: there are " + std::to_string(slots));
}

/// out[dest_loc[i]] = k[i]; a slot that is named twice is refused, as is one that does not exist.
diopiError_t store_rows(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t k,
                        diopiConstTensorHandle_t dest_loc) {
    return kernel([&] {
        require_one_floating_dtype("out", out, {k});
        const Operand<double> rows(k, "k");
        const auto slots = attention_numbers(dest_loc, "dest_loc");
        Output<double> cache(out, "out", Output<double>::Start::kOldValues);
        if (cache.rank() != 3) refuse("out has shape " + to_string(cache.shape()) + ", wanted (slots, heads, d)");
        require_shape("k", rows.shape(), Shape{slots.numel(), cache.size(1), cache.size(2)});
        require_shape("dest_loc", slots.shape(), Shape{rows.size(0)});
        const int64_t size = cache.size(1) * cache.size(2);
        std::vector<bool> taken(static_cast<size_t>(cache.size(0)), false);
        for (int64_t i = 0; i < slots.numel(); ++i) {
            const int64_t slot = require_slot(slots[i], cache.size(0));
            if (taken[static_cast<size_t>(slot)]) refuse("dest_loc names slot " + std::to_string(slot) + " twice");
            taken[static_cast<size_t>(slot)] = true;
            std::copy_n(rows.data() + i * size, size, cache.data() + slot * size);
        }
        cache.store();
    });
}

/// The slots of the tokens of each sequence, and the columns of their scores.
struct TokenSlots {
    Operand<int64_t> table, starts, lengths;
    int64_t longest;

    TokenSlots(diopiConstTensorHandle_t b_loc, diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
               int64_t max_input_len)
        : table(attention_numbers(b_loc, "b_loc")),
          starts(attention_numbers(b_start_loc, "b_start_loc")),
          lengths(attention_numbers(b_seq_len, "b_seq_len")),
          longest(max_input_len) {
        if (table.rank() != 2 || longest < 0 || longest > table.size(1)) {
            refuse("b_loc has shape " + to_string(table.shape()) + ", wanted (batch, at least max_input_len " +
                   std::to_string(longest) + ")");
        }
        require_shape("b_start_loc", starts.shape(), Shape{table.size(0)});
    }
    [[nodiscard]] int64_t batch() const { return table.size(0); }
    [[nodiscard]] int64_t slot(int64_t b, int64_t j, int64_t slots) const {
        return require_slot(table[b * table.size(1) + longest - lengths[b] + j], slots);
    }
};

/// Refuses rows and scores that do not have the heads of the cache.
void require_cache(ShapeView cache, ShapeView rows, ShapeView scores, const TokenSlots& slots) {
    if (cache.size() != 3 || cache[2] < 1) {
        refuse("the cache has shape " + to_string(cache) + ", wanted (slots, heads, d) with d at least 1");
    }
    require_shape("the tensor of each sequence's heads", rows, Shape{slots.batch(), cache[1], cache[2]});
    if (scores.size() != 2) refuse("the scores have shape " + to_string(scores) + ", wanted (heads, tokens)");
    require_shape("the scores", scores, Shape{cache[1], scores[1]});
    require_sequences(slots.starts, slots.lengths, slots.longest, scores[1]);
}

/// out[h, start_b + j] = q[b, h] . k[slot(b, j), h] / sqrt(d); columns of no sequence are 0.
diopiError_t token_scores(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t b_loc,
                          diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                          int64_t max_input_len) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_one_floating_dtype("q", q, {k});
        const Operand<T> queries(q, "q"), keys(k, "k");
        const TokenSlots slots(b_loc, b_start_loc, b_seq_len, max_input_len);
        Output<T> scores(out, "token_attention_out", Output<T>::Start::kZero);
        require_cache(keys.shape(), queries.shape(), scores.shape(), slots);
        const int64_t heads = keys.size(1), d = keys.size(2);
        const T scale = attention_scale<T>(d);
        for (int64_t b = 0; b < slots.batch(); ++b) {
            for (int64_t j = 0; j < slots.lengths[b]; ++j) {
                const int64_t slot = slots.slot(b, j, keys.size(0));
                for (int64_t h = 0; h < heads; ++h) {
                    scores[h * scores.size(1) + slots.starts[b] + j] = attention_score(
                        queries.data() + (b * heads + h) * d, keys.data() + (slot * heads + h) * d, d, scale);
                }
            }
        }
        scores.store();
    });
}

/// out[b, h] = sum over j of softmax(logics[h, start_b ...])_j v[slot(b, j), h]; 0 for a sequence without tokens.
diopiError_t token_values(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t logics, diopiConstTensorHandle_t v, diopiConstTensorHandle_t b_loc,
                          diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                          int64_t max_input_len, int64_t) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_one_floating_dtype("v", v, {logics});
        const Operand<T> scores(logics, "logics"), values(v, "v");
        const TokenSlots slots(b_loc, b_start_loc, b_seq_len, max_input_len);
        Output<T> y(out, "out");
        require_cache(values.shape(), y.shape(), scores.shape(), slots);
        const int64_t heads = values.size(1), d = values.size(2);
        for (int64_t b = 0; b < slots.batch(); ++b) {
            for (int64_t h = 0; h < heads; ++h) {
                const auto* row = scores.data() + h * scores.size(1) + slots.starts[b];
                average_values(
                    std::vector<T>(row, row + slots.lengths[b]),
                    [&](int64_t j) { return values.data() + (slots.slot(b, j, values.size(0)) * heads + h) * d; }, d,
                    y.data() + (b * heads + h) * d);
            }
        }
        y.store();
    });
}

/// out[b, h] = attention of q[b, h] to the tokens t of sequence b that the mask does not hide, which lie in rows
/// block_table[b, t / block_size] * block_size + t % block_size; 0 if there is none.
diopiError_t paged_attention(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
                             diopiConstTensorHandle_t attenMask, diopiSize_t actual_seq_lengths, int64_t num_heads,
                             int64_t num_kv_heads, int64_t dim, diopiConstTensorHandle_t block_table,
                             int64_t block_size) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_heads(num_heads, num_kv_heads, dim);
        require_one_floating_dtype("q", q, {k, v});
        require_mask("attenMask", attenMask);
        const Operand<T> queries(q, "q"), keys(k, "k"), values(v, "v");
        const Operand<int64_t> hidden(attenMask, "attenMask?");
        const auto table = attention_numbers(block_table, "block_table");
        const ShapeView lengths = list_of(actual_seq_lengths);
        const auto batch = static_cast<int64_t>(lengths.size());
        Output<T> y(out, "out");
        require_shape("q", queries.shape(), Shape{batch, num_heads * dim});
        require_shape("out", y.shape(), queries.shape());
        if (keys.rank() != 2) refuse("k has shape " + to_string(keys.shape()) + ", wanted (slots, num_kv_heads * dim)");
        require_shape("k", keys.shape(), Shape{keys.size(0), num_kv_heads * dim});
        require_shape("v", values.shape(), keys.shape());
        if (block_size < 1) refuse("block_size is " + std::to_string(block_size) + ", wanted at least 1");
        if (table.rank() != 2 || table.size(0) != batch) {
            refuse("block_table has shape " + to_string(table.shape()) + ", wanted (batch, blocks)");
        }
        if (hidden) {
            if (hidden.rank() != 2) refuse("attenMask has shape " + to_string(hidden.shape()) + ", wanted (batch, n)");
            require_shape("attenMask", hidden.shape(), Shape{batch, hidden.size(1)});
        }
        for (int64_t b = 0; b < batch; ++b) {
            const int64_t length = lengths[static_cast<size_t>(b)];
            if (length < 0 || (length > 0 && (length - 1) / block_size >= table.size(1)) ||
                (hidden && length > hidden.size(1))) {
                refuse("actual_seq_lengths holds " + std::to_string(length) +
                       ", wanted 0 to what block_table and attenMask have places for");
            }
            std::vector<int64_t> rows;
            for (int64_t t = 0; t < length; ++t) {
                const int64_t block = table[b * table.size(1) + t / block_size];
                if (block < 0 || block > (keys.size(0) - 1 - t % block_size) / block_size) {
                    refuse("block_table names block " + std::to_string(block) + ", but k has " +
                           std::to_string(keys.size(0)) + " slots");
                }
                if (!hidden || hidden[b * hidden.size(1) + t] == 0) rows.push_back(block * block_size + t % block_size);
            }
            for (int64_t h = 0; h < num_heads; ++h) {
                const int64_t at = h / (num_heads / num_kv_heads) * dim;
                attend(queries.data() + (b * num_heads + h) * dim, keys.data() + at, values.data() + at, rows,
                       num_kv_heads * dim, dim, y.data() + (b * num_heads + h) * dim);
            }
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/attention_cache.inc"

}  // namespace diopi::reference
