/// Attention within concatenated prompts.
#include <numeric>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/attention_rows.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Row i of a sequence attends to its rows 0 to i; rows of no sequence are 0.
diopiError_t context_attention(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                               diopiConstTensorHandle_t q, diopiConstTensorHandle_t k, diopiConstTensorHandle_t v,
                               diopiConstTensorHandle_t b_start_loc, diopiConstTensorHandle_t b_seq_len,
                               int64_t max_input_len) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_one_floating_dtype("q", q, {k, v});
        const Operand<T> queries(q, "q"), keys(k, "k"), values(v, "v");
        const auto starts = attention_numbers(b_start_loc, "b_start_loc");
        const auto lengths = attention_numbers(b_seq_len, "b_seq_len");
        Output<T> y(out, "context_attention_out", Output<T>::Start::kZero);
        if (queries.rank() != 3 || queries.size(2) < 1) {
            refuse("q has shape " + to_string(queries.shape()) + ", wanted (tokens, heads, d) with d at least 1");
        }
        require_shape("k", keys.shape(), queries.shape());
        require_shape("v", values.shape(), queries.shape());
        require_shape("context_attention_out", y.shape(), queries.shape());
        if (starts.rank() != 1) refuse("b_start_loc has shape " + to_string(starts.shape()) + ", wanted (batch)");
        require_sequences(starts, lengths, max_input_len, queries.size(0));
        const int64_t heads = queries.size(1), d = queries.size(2);
        for (int64_t b = 0; b < starts.numel(); ++b) {
            for (int64_t i = 0; i < lengths[b]; ++i) {
                std::vector<int64_t> rows(static_cast<size_t>(i + 1));
                std::iota(rows.begin(), rows.end(), starts[b]);
                for (int64_t h = 0; h < heads; ++h) {
                    const int64_t at = (starts[b] + i) * heads * d + h * d;
                    attend(queries.data() + at, keys.data() + h * d, values.data() + h * d, rows, heads * d, d,
                           y.data() + at);
                }
            }
        }
        y.store();
    });
}

/// Row i of a sequence attends to its rows j that the mask does not hide; 0 if it hides all.
diopiError_t prompt_attention(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t query, diopiConstTensorHandle_t key,
                              diopiConstTensorHandle_t value, diopiConstTensorHandle_t atten_mask,
                              diopiSize_t actual_seq_lengths, int64_t max_input_len, int64_t num_heads,
                              int64_t num_kv_heads, int64_t dim) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        require_heads(num_heads, num_kv_heads, dim);
        require_one_floating_dtype("query", query, {key, value});
        require_mask("atten_mask", atten_mask);
        const Operand<T> queries(query, "query"), keys(key, "key"), values(value, "value");
        const Operand<int64_t> hidden(atten_mask, "atten_mask?");
        const ShapeView lengths = list_of(actual_seq_lengths);
        Output<T> y(out, "out");
        int64_t total = 0;
        for (const int64_t length : lengths) {
            if (length < 0 || length > max_input_len || length > INT32_MAX) {
                refuse("actual_seq_lengths holds " + std::to_string(length) + ", wanted 0 to max_input_len " +
                       std::to_string(max_input_len));
            }
            total += length;
        }
        require_shape("query", queries.shape(), Shape{total, num_heads * dim});
        require_shape("key", keys.shape(), Shape{total, num_kv_heads * dim});
        require_shape("value", values.shape(), keys.shape());
        require_shape("out", y.shape(), queries.shape());
        const auto batch = static_cast<int64_t>(lengths.size());
        if (hidden) require_shape("atten_mask", hidden.shape(), Shape{batch, max_input_len, max_input_len});
        int64_t first = 0;
        for (int64_t b = 0; b < batch; ++b) {
            const int64_t length = lengths[static_cast<size_t>(b)];
            for (int64_t i = 0; i < length; ++i) {
                std::vector<int64_t> rows;
                for (int64_t j = 0; j < length; ++j) {
                    if (!hidden || hidden[(b * max_input_len + i) * max_input_len + j] == 0) rows.push_back(first + j);
                }
                for (int64_t h = 0; h < num_heads; ++h) {
                    const int64_t at = h / (num_heads / num_kv_heads) * dim, row = (first + i) * num_heads + h;
                    attend(queries.data() + row * dim, keys.data() + at, values.data() + at, rows, num_kv_heads * dim,
                           dim, y.data() + row * dim);
                }
            }
            first += length;
        }
        y.store();
    });
}

}  // namespace

#include "kernels/entries/attention_prompt.inc"

}  // namespace diopi::reference
