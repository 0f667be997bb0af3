#include "kernels/operands/attention_rows.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/operands/index.hpp"

namespace diopi::operands {

diopiError_t check_pages(std::string_view op, std::string_view table, const KeyRows& keys, int64_t rows) {
    for (int64_t j = 0; j < keys.count; j += keys.page_size) {
        const int64_t page = keys.pages[j / keys.page_size], used = std::min(keys.page_size, keys.count - j);
        if (page >= 0 && used <= rows && page <= (rows - used) / keys.page_size) continue;
        std::string what(table);
        what.append(" holds ").append(std::to_string(page)).append(" for token ").append(std::to_string(j));
        return refuse(op, what.append(", which is not among the ").append(std::to_string(rows)).append(" slots"));
    }
    return diopiSuccess;
}

diopiError_t check_numbers(std::string_view op, std::string_view argument, const View& numbers, ShapeView wanted) {
    if (!is_index(numbers.dtype)) return unsupported(op, argument, numbers.dtype, "int32 or int64");
    return check_shape(op, argument, numbers, wanted);
}

diopiError_t check_sequences(std::string_view op, std::span<const int64_t> starts, std::span<const int64_t> lengths,
                             int64_t max_input_len, int64_t count) {
    for (size_t b = 0; b < starts.size(); ++b) {
        const int64_t most = std::min(max_input_len, count);
        if (lengths[b] >= 0 && lengths[b] <= most && starts[b] >= 0 && starts[b] <= count - lengths[b]) continue;
        return refuse(op, "sequence " + std::to_string(b) + " has " + std::to_string(lengths[b]) + " tokens from " +
                              std::to_string(starts[b]) + " on, wanted at most max_input_len " +
                              std::to_string(max_input_len) + " among " + std::to_string(count));
    }
    std::vector<size_t> order(starts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::erase_if(order, [&](size_t b) { return lengths[b] == 0; });
    std::ranges::sort(order, {}, [&](size_t b) { return starts[b]; });
    for (size_t i = 1; i < order.size(); ++i) {
        const size_t before = order[i - 1], b = order[i];
        if (starts[before] + lengths[before] <= starts[b]) continue;
        return refuse(op, "sequences " + std::to_string(before) + " and " + std::to_string(b) + " overlap");
    }
    return diopiSuccess;
}

diopiError_t check_distinct(std::string_view op, std::string_view argument, std::span<const int64_t> numbers,
                            int64_t count) {
    const auto bad = std::ranges::find_if(numbers, [=](int64_t n) { return n < 0 || n >= count; });
    if (bad != numbers.end()) {
        return refuse(op, std::string(argument) + " holds " + std::to_string(*bad) + ", wanted 0 to " +
                              std::to_string(count - 1));
    }
    std::vector<int64_t> sorted(numbers.begin(), numbers.end());
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return diopiSuccess;
    return refuse(op, std::string(argument) + " names " + std::to_string(*twice) + " twice");
}

diopiError_t check_one_dtype(std::string_view op, std::span<const Named> tensors) {
    for (const Named& tensor : tensors) {
        diopiError_t error = check_computable(op, tensor.argument, tensor.view);
        if (error == diopiSuccess && tensor.view.dtype != tensors.front().view.dtype) {
            error = unsupported(op, tensor.argument, tensor.view.dtype, name(tensors.front().view.dtype));
        }
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

diopiError_t check_token_attention(const TokenAttention& a) {
    const ShapeView cache = a.cache.view.shape, scores = a.scores.view.shape;
    if (cache.size() != 3 || cache[2] < 1) {
        return wrong_shape(a.op, a.cache.argument, cache, "(slots, heads, d) with d at least 1");
    }
    if (a.b_loc.rank() != 2 || a.max_input_len < 0 || a.b_loc.shape[1] < a.max_input_len) {
        return wrong_shape(a.op, "b_loc", a.b_loc.shape,
                           "(batch, at least max_input_len " + std::to_string(a.max_input_len) + ")");
    }
    const int64_t batch = a.b_loc.shape[0], rows[] = {batch, cache[1], cache[2]};
    diopiError_t error = check_shape(a.op, a.rows.argument, a.rows.view, rows);
    if (error == diopiSuccess && (scores.size() != 2 || scores[0] != cache[1])) {
        error = wrong_shape(a.op, a.scores.argument, scores, "(" + std::to_string(cache[1]) + ", tokens)");
    }
    if (error == diopiSuccess) error = check_numbers(a.op, "b_loc", a.b_loc, a.b_loc.shape);
    if (error == diopiSuccess) error = check_numbers(a.op, "b_start_loc", a.b_start_loc, {&batch, 1});
    return error != diopiSuccess ? error : check_numbers(a.op, "b_seq_len", a.b_seq_len, {&batch, 1});
}

namespace {

diopiError_t check_heads(std::string_view op, const Heads& heads) {
    if (heads.count >= 1 && heads.keys >= 1 && heads.dim >= 1 && heads.count % heads.keys == 0) return diopiSuccess;
    return refuse(op, "num_heads is " + std::to_string(heads.count) + ", num_kv_heads " + std::to_string(heads.keys) +
                          " and dim " + std::to_string(heads.dim) +
                          ", wanted positive numbers, the first a multiple of the second");
}

/// The shapes of `query` and `out` with `rows` rows, and of `key` and `value`, which have as many rows as each other.
diopiError_t check_attended(std::string_view op, const Heads& heads, int64_t rows, const Named& out, const Named& query,
                            const Named& key, const Named& value) {
    const Named same[] = {query, key, value};
    diopiError_t error = check_heads(op, heads);
    if (error == diopiSuccess) error = check_one_dtype(op, same);
    if (error == diopiSuccess) error = check_computable(op, out.argument, out.view);
    if (error != diopiSuccess) return error;
    const auto width = [&](int64_t count) { return checked_numel(Shape{count, heads.dim}).value_or(-1); };
    const int64_t wanted[] = {rows, width(heads.count)};
    error = check_shape(op, query.argument, query.view, wanted);
    if (error == diopiSuccess) error = check_shape(op, out.argument, out.view, wanted);
    if (error == diopiSuccess && (key.view.rank() != 2 || key.view.shape[1] != width(heads.keys))) {
        error = wrong_shape(op, key.argument, key.view.shape, "(n, " + std::to_string(width(heads.keys)) + ")");
    }
    return error != diopiSuccess ? error : check_shape(op, value.argument, value.view, key.view.shape);
}

diopiError_t check_mask(std::string_view op, std::string_view argument, diopiConstTensorHandle_t mask,
                        ShapeView wanted) {
    if (mask == nullptr) return diopiSuccess;
    const View hidden = view(mask);
    if (hidden.dtype != Dtype::boolean) return unsupported(op, argument, hidden.dtype, "bool");
    return check_shape(op, argument, hidden, wanted);
}

}  // namespace

diopiError_t check_paged_attention(const PagedAttention& a) {
    const auto batch = static_cast<int64_t>(a.lengths.size());
    diopiError_t error = check_attended(a.op, a.heads, batch, {"out", a.out}, {"q", a.q}, {"k", a.k}, {"v", a.v});
    if (error != diopiSuccess) return error;
    if (a.block_size < 1) {
        return refuse(a.op, "block_size is " + std::to_string(a.block_size) + ", wanted at least 1");
    }
    if (a.block_table.rank() != 2) return wrong_shape(a.op, "block_table", a.block_table.shape, "(batch, blocks)");
    const int64_t blocks = a.block_table.shape[1], table[] = {batch, blocks};
    const int64_t longest = a.lengths.empty() ? 0 : std::ranges::max(a.lengths);
    error = check_numbers(a.op, "block_table", a.block_table, table);
    if (error == diopiSuccess && a.mask != nullptr) {
        const View mask = view(a.mask);
        const int64_t wanted[] = {batch, mask.rank() == 2 ? std::max(mask.shape[1], longest) : longest};
        error = check_mask(a.op, "attenMask", a.mask, wanted);
    }
    if (error != diopiSuccess) return error;
    for (const int64_t length : a.lengths) {
        if (length >= 0 && (length == 0 || (length - 1) / a.block_size < blocks)) continue;
        return refuse(a.op, "actual_seq_lengths holds " + std::to_string(length) + ", wanted 0 to the tokens of " +
                                std::to_string(blocks) + " blocks of " + std::to_string(a.block_size));
    }
    return diopiSuccess;
}

diopiError_t check_context_attention(const ContextAttention& a) {
    const Named same[] = {{"q", a.q}, {"k", a.k}, {"v", a.v}};
    diopiError_t error = check_one_dtype(a.op, same);
    if (error == diopiSuccess) error = check_computable(a.op, "context_attention_out", a.out);
    if (error != diopiSuccess) return error;
    if (a.q.rank() != 3 || a.q.shape[2] < 1) {
        return wrong_shape(a.op, "q", a.q.shape, "(tokens, heads, d) with d at least 1");
    }
    if (a.b_start_loc.rank() != 1) return wrong_shape(a.op, "b_start_loc", a.b_start_loc.shape, "(batch)");
    error = check_shape(a.op, "k", a.k, a.q.shape);
    if (error == diopiSuccess) error = check_shape(a.op, "v", a.v, a.q.shape);
    if (error == diopiSuccess) error = check_shape(a.op, "context_attention_out", a.out, a.q.shape);
    if (error == diopiSuccess) error = check_numbers(a.op, "b_start_loc", a.b_start_loc, a.b_start_loc.shape);
    return error != diopiSuccess ? error : check_numbers(a.op, "b_seq_len", a.b_seq_len, a.b_start_loc.shape);
}

diopiError_t check_prompt_attention(const PromptAttention& a) {
    int64_t total = 0;
    for (const int64_t length : a.lengths) {
        if (length < 0 || length > a.max_input_len || length > INT32_MAX) {
            return refuse(a.op, "actual_seq_lengths holds " + std::to_string(length) + ", wanted 0 to max_input_len " +
                                    std::to_string(a.max_input_len));
        }
        total += length;
    }
    const diopiError_t error =
        check_attended(a.op, a.heads, total, {"out", a.out}, {"query", a.query}, {"key", a.key}, {"value", a.value});
    if (error != diopiSuccess) return error;
    if (a.key.shape[0] != total) return wrong_shape(a.op, "key", a.key.shape, to_string(a.query.shape.first(1)));
    const int64_t wanted[] = {static_cast<int64_t>(a.lengths.size()), a.max_input_len, a.max_input_len};
    return check_mask(a.op, "atten_mask", a.mask, wanted);
}

diopiError_t check_stored_rows(std::string_view op, const View& out, const View& k, const View& dest_loc) {
    const Named same[] = {{"out", out}, {"k", k}};
    diopiError_t error = check_one_dtype(op, same);
    if (error != diopiSuccess) return error;
    if (out.rank() != 3 || out.shape[2] < 1) {
        return wrong_shape(op, "out", out.shape, "(slots, heads, d) with d at least 1");
    }
    if (k.rank() != 3) return wrong_shape(op, "k", k.shape, "(n, heads, d)");
    const int64_t wanted[] = {k.shape[0], out.shape[1], out.shape[2]};
    error = check_shape(op, "k", k, wanted);
    return error != diopiSuccess ? error : check_numbers(op, "dest_loc", dest_loc, k.shape.first(1));
}

}  // namespace diopi::operands
