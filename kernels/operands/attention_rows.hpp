/// The arguments of attention to keys and values in place, checked: sequences in one tensor, and rows that tables name.
/// Shared by the backends cpu and cuda.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/operands/refusal.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The rows of one sequence in a tensor of keys: key j is row pages[j / page_size] * page_size + j % page_size, or,
/// without pages, row first + j.
struct KeyRows {
    const int64_t* pages = nullptr;
    int64_t page_size = 1;
    int64_t first = 0;
    int64_t count = 0;

    [[nodiscard]] int64_t row(int64_t j) const {
        return pages == nullptr ? first + j : pages[j / page_size] * page_size + j % page_size;
    }
};

/// Refuses pages that reach beyond the `rows` rows of a cache; `table` is the argument that names them.
[[nodiscard]] diopiError_t check_pages(std::string_view op, std::string_view table, const KeyRows& keys, int64_t rows);

/// Refuses tensors that are not int32 or int64, of that shape.
[[nodiscard]] diopiError_t check_numbers(std::string_view op, std::string_view argument, const View& numbers,
                                         ShapeView wanted);
/// Refuses sequences, `lengths` elements from `starts` on, that are longer than max_input_len, lie outside of [0,
/// count), or overlap.
[[nodiscard]] diopiError_t check_sequences(std::string_view op, std::span<const int64_t> starts,
                                           std::span<const int64_t> lengths, int64_t max_input_len, int64_t count);
/// Refuses numbers outside of [0, count), and those that stand twice.
[[nodiscard]] diopiError_t check_distinct(std::string_view op, std::string_view argument,
                                          std::span<const int64_t> numbers, int64_t count);

/// A tensor and the name of its argument.
struct Named {
    std::string_view argument;
    View view;
};

/// Refuses tensors that have not one floating dtype.
[[nodiscard]] diopiError_t check_one_dtype(std::string_view op, std::span<const Named> tensors);

/// The tensors of token attention, which its functions name differently: (batch, heads, d), (slots, heads, d) and
/// (heads, tokens).
struct TokenAttention {
    std::string_view op;
    Named rows, cache, scores;
    View b_loc, b_start_loc, b_seq_len;
    int64_t max_input_len = 0;
};
/// Refuses shapes and dtypes that do not fit; the numbers are checked when they are read.
[[nodiscard]] diopiError_t check_token_attention(const TokenAttention& a);

/// The heads of tensors (n, num_heads * dim) and (m, num_kv_heads * dim).
struct Heads {
    int64_t count = 1, keys = 1, dim = 1;

    /// Query heads for each key head.
    [[nodiscard]] int64_t group() const { return count / keys; }
};

struct PagedAttention {
    std::string_view op;
    View out, q, k, v;
    diopiConstTensorHandle_t mask = nullptr;
    ShapeView lengths;
    Heads heads;
    View block_table;
    int64_t block_size = 1;
};
[[nodiscard]] diopiError_t check_paged_attention(const PagedAttention& a);

struct ContextAttention {
    std::string_view op;
    View out, q, k, v, b_start_loc, b_seq_len;
};
[[nodiscard]] diopiError_t check_context_attention(const ContextAttention& a);

struct PromptAttention {
    std::string_view op;
    View out, query, key, value;
    diopiConstTensorHandle_t mask = nullptr;
    ShapeView lengths;
    int64_t max_input_len = 0;
    Heads heads;
};
[[nodiscard]] diopiError_t check_prompt_attention(const PromptAttention& a);

/// Refuses a row of out that does not fit a cache.
[[nodiscard]] diopiError_t check_stored_rows(std::string_view op, const View& out, const View& k, const View& dest_loc);

}  // namespace diopi::operands
