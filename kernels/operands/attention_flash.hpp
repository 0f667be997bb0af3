/// The arguments of attention, checked, as one problem for all layouts. Shared by the backends cpu and cuda.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/entries/attention_flash.hpp"
#include "kernels/operands/random.hpp"
#include "kernels/operands/view.hpp"

namespace diopi::operands {

/// The queries and the keys that belong together.
struct SequencePair {
    int64_t batch;             ///< its number
    int64_t q_start, k_start;  ///< the first element, in dense memory
    int64_t q_rows, k_rows;
};

/// Elements from one head, and from one position, to the next in dense memory.
struct HeadStrides {
    int64_t head = 0, position = 0;
};

struct KeyRange {
    int64_t first = 0, last = 0;  ///< `last` is behind the range
};

struct Attention {
    View q, k, v;
    int64_t batch = 0, heads = 0, key_heads = 0, dim = 0;
    HeadStrides q_strides, k_strides;
    int64_t max_q = 0, max_k = 0;
    std::vector<SequencePair> sequences;
    diopiConstTensorHandle_t alibi_slopes = nullptr;  ///< (heads) or (batch, heads)
    bool has_slopes_of_batch = false;
    View mask;  ///< (max_q, max_k), true: hidden; dense, and set by the backend. Without data: there is none
    double scale = 0;
    int64_t left = -1, right = -1;  ///< a negative one is no bound
    double p_dropout = 0;
    Sequence drawn;  ///< of the words that drop elements

    /// Refuses arguments that do not fit together.
    [[nodiscard]] static diopiError_t read(const AttentionArguments& a, Attention& made);

    [[nodiscard]] int64_t group() const { return heads / key_heads; }
    /// The key position of query i.
    [[nodiscard]] static int64_t position(const SequencePair& s, int64_t i) { return i + s.k_rows - s.q_rows; }
    /// The keys that the windows leave to query i.
    [[nodiscard]] KeyRange keys(const SequencePair& s, int64_t i) const {
        const int64_t p = position(s, i);
        const int64_t first = left < 0 ? 0 : std::clamp<int64_t>(p - left, 0, s.k_rows);
        const int64_t last = right < 0 ? s.k_rows : std::clamp<int64_t>(p + right + 1, 0, s.k_rows);
        return {first, std::max(first, last)};
    }
    /// The number of the first word that drops elements of a row, one for each key.
    [[nodiscard]] int64_t first_word(const SequencePair& s, int64_t head, int64_t i) const {
        return ((s.batch * heads + head) * max_q + i) * max_k;
    }
    [[nodiscard]] int64_t words() const { return batch * heads * max_q * max_k; }
    /// The place of a row in softmax_lse.
    [[nodiscard]] int64_t row(int64_t b, int64_t head, int64_t i) const { return (b * heads + head) * max_q + i; }
    [[nodiscard]] int64_t rows() const { return batch * heads * max_q; }
};

/// Refuses outputs that do not fit the problem.
[[nodiscard]] diopiError_t check_attention(const AttentionForward& a, const Attention& problem);
[[nodiscard]] diopiError_t check_attention(const AttentionBackward& a, const Attention& problem);

}  // namespace diopi::operands
