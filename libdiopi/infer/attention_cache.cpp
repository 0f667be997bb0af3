#include <algorithm>
#include <optional>
#include <string>

#include "infer/rules.hpp"

namespace diopi::infer_rules {

namespace {

/// The message for a tensor of indices that has another shape or dtype; nullopt if none has.
std::optional<std::string> wrong_numbers(const Call& call, std::initializer_list<const char*> names, int64_t count) {
    for (const char* arg : names) {
        const Tensor& tensor = *call.tensor(arg);
        if (tensor.shape == Shape{count} && is_index(tensor.dtype)) continue;
        return std::string(arg) + " " + std::string(name(tensor.dtype)) + " " + to_string(tensor.shape) +
               " must be int32 or int64 of shape " + to_string(Shape{count});
    }
    return std::nullopt;
}

/// The message for tables of slots that do not fit one another.
std::optional<std::string> wrong_slots(const Call& call) {
    const Tensor& slots = *call.tensor("b_loc");
    const int64_t longest = call.integer("max_input_len");
    if (slots.rank() != 2 || !is_index(slots.dtype)) {
        return "b_loc " + to_string(slots.shape) + " must be (batch, max_input_len) of int32 or int64";
    }
    if (longest < 0 || longest > slots.shape[1]) {
        return "max_input_len " + std::to_string(longest) + " must be one of the columns of b_loc " +
               to_string(slots.shape);
    }
    return wrong_numbers(call, {"b_start_loc", "b_seq_len"}, slots.shape[0]);
}

/// Whether a tensor is (count, heads, d) like the rows of a cache, whose heads have elements.
bool has_heads_of(const Tensor& tensor, const Tensor& cache) {
    return cache.rank() == 3 && tensor.rank() == 3 && cache.shape[2] > 0 &&
           std::equal(tensor.shape.begin() + 1, tensor.shape.end(), cache.shape.begin() + 1) &&
           tensor.dtype == cache.dtype && is_floating(cache.dtype);
}

std::string must_match(const char* tensor, const Shape& shape, const char* cache, const Shape& cache_shape) {
    return std::string(tensor) + " " + to_string(shape) + " and " + cache + " " + to_string(cache_shape) +
           " must be (n, heads, d) of one floating dtype, with the same heads and d";
}

}  // namespace

/// Rows of `out` are replaced by those of k. Source: destindex_copy_kv of LightLLM.
Specs cache_rows(Call& call, const ResultHints&) {
    const Tensor &cache = *call.tensor("out"), &rows = *call.tensor("k");
    if (!has_heads_of(rows, cache)) return contradiction(call, must_match("k", rows.shape, "out", cache.shape));
    if (const auto wrong = wrong_numbers(call, {"dest_loc"}, rows.shape[0])) return contradiction(call, *wrong);
    return std::vector<OutputSpec>{};
}

/// A column of the scores for each token of each sequence. Source: token attention of LightLLM.
Specs token_scores(Call& call, const ResultHints&) {
    const Tensor &out = *call.tensor("token_attention_out"), &q = *call.tensor("q"), &k = *call.tensor("k");
    if (!has_heads_of(q, k)) return contradiction(call, must_match("q", q.shape, "k", k.shape));
    if (const auto wrong = wrong_slots(call)) return contradiction(call, *wrong);
    if (q.shape[0] != call.tensor("b_loc")->shape[0]) {
        return contradiction(call, "q " + to_string(q.shape) + " must have a row for each sequence of b_loc " +
                                       to_string(call.tensor("b_loc")->shape));
    }
    if (out.rank() != 2 || out.shape[0] != q.shape[1] || !is_floating(out.dtype)) {
        return contradiction(
            call, "out " + to_string(out.shape) + " must be (heads, tokens) for the heads of q " + to_string(q.shape));
    }
    return std::vector<OutputSpec>{};
}

/// A row of weighted values for each sequence. Source: token attention of LightLLM.
Specs token_values(Call& call, const ResultHints&) {
    const Tensor &out = *call.tensor("out"), &scores = *call.tensor("logics"), &v = *call.tensor("v");
    if (!has_heads_of(out, v)) return contradiction(call, must_match("out", out.shape, "v", v.shape));
    if (const auto wrong = wrong_slots(call)) return contradiction(call, *wrong);
    if (out.shape[0] != call.tensor("b_loc")->shape[0]) {
        return contradiction(call, "out " + to_string(out.shape) + " must have a row for each sequence of b_loc " +
                                       to_string(call.tensor("b_loc")->shape));
    }
    if (scores.rank() != 2 || scores.shape[0] != v.shape[1] || scores.dtype != v.dtype) {
        return contradiction(call, "logics " + to_string(scores.shape) +
                                       " must be (heads, tokens) for the heads of v " + to_string(v.shape) +
                                       ", of its dtype");
    }
    return std::vector<OutputSpec>{};
}

/// out is like q. Source: PagedAttention, Kwon et al. 2023.
Specs paged_attention(Call& call, const ResultHints&) {
    const Tensor &q = *call.tensor("q"), &k = *call.tensor("k"), &v = *call.tensor("v");
    const Tensor &table = *call.tensor("block_table"), *mask = call.tensor("attenMask");
    if (const auto wrong = wrong_heads(call, q, k, v)) return contradiction(call, *wrong);
    const IntList& lengths = *call.ints("actual_seq_lengths");
    const auto batch = std::ssize(lengths);
    if (q.shape[0] != batch) {
        return contradiction(call, "q " + to_string(q.shape) + " must have one row for each of the " +
                                       std::to_string(batch) + " actual_seq_lengths");
    }
    const int64_t size = call.integer("block_size");
    if (table.rank() != 2 || table.shape[0] != batch || !is_index(table.dtype) || size < 1) {
        return contradiction(call, "block_table " + to_string(table.shape) +
                                       " must be (batch, blocks) of int32 or int64, for blocks of at least one token");
    }
    const int64_t longest = lengths.empty() ? 0 : std::ranges::max(lengths);
    const bool is_negative = !lengths.empty() && std::ranges::min(lengths) < 0;
    if (is_negative || (longest > 0 && (longest - 1) / size >= table.shape[1])) {
        return contradiction(call, "actual_seq_lengths " + to_string(lengths) + " must fit in the blocks of " +
                                       std::to_string(size) + " tokens that block_table " + to_string(table.shape) +
                                       " names");
    }
    const bool fits = mask == nullptr || (mask->rank() == 2 && mask->shape[0] == batch && mask->shape[1] >= longest &&
                                          mask->dtype == Dtype::boolean);
    if (!fits) {
        return contradiction(call, "attenMask " + to_string(mask->shape) +
                                       " must be bool of shape (batch, n), n at least the greatest length");
    }
    return one(call, "out", {q.shape, q.dtype, {}});
}

}  // namespace diopi::infer_rules
