/// Attention of the queries of one sequence to its keys and values, which are read where they lie: blocks of keys, one
/// after the other, with the maximum and the sum of the powers so far. Source: FlashAttention, Dao et al. 2022.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "core/half.hpp"
#include "kernels/operands/attention_rows.hpp"

namespace diopi::cpu {

/// The most rows that are computed together: a row is a head of a query.
constexpr int64_t kAttendedRows = 64;

/// One sequence, or some consecutive queries of it and some of its heads. Rows of q and out have heads * group heads of
/// dim elements, rows of k and v have `heads` heads.
template <class E>
struct AttendedRows {
    using T = std::conditional_t<std::is_same_v<E, double>, double, float>;
    const E* q = nullptr;  ///< of the sequence's first query
    const E* k = nullptr;  ///< of row 0
    const E* v = nullptr;
    E* out = nullptr;
    int64_t heads = 1, group = 1, dim = 1;
    T scale = 1;
    operands::KeyRows keys;
    const uint8_t* hidden = nullptr;  ///< of the sequence's first query, one for each key; null: none
    int64_t hidden_pitch = 0;         ///< from one query to the next
    bool causal = false;              ///< query i sees the keys 0 to history + i
    int64_t history = 0;              ///< keys before that of query 0
    int64_t first_query = 0, queries = 1;
    int64_t first_head = 0, head_count = 1;  ///< of the keys
    /// The scores of the sequence's only query: of head 0, `scores_pitch` from one head to the next.
    const E* scores = nullptr;  ///< in the place of q and k, if not null
    E* scores_out = nullptr;
    int64_t scores_pitch = 0;

    [[nodiscard]] int64_t rows() const { return head_count * queries * group; }
};

template <class E>
struct AttentionKernels {
    using T = typename AttendedRows<E>::T;
    /// Elements of the workspace for that many rows.
    int64_t (*workspace)(int64_t rows, int64_t dim);
    /// out = sum of softmax(scale q k_j)_j v_j over the keys that are not hidden, 0 if there is none.
    void (*attend)(const AttendedRows<E>& a, T* workspace);
    /// scores_out = scale q k_j, of a sequence with one query and a group of 1.
    void (*score)(const AttendedRows<E>& a, T* workspace);
};

using AttentionTable =
    std::tuple<AttentionKernels<float>, AttentionKernels<double>, AttentionKernels<Half>, AttentionKernels<Bfloat16>>;
[[nodiscard]] const AttentionTable& attention_table();

template <class E>
[[nodiscard]] const AttentionKernels<E>& attention_kernels() {
    return std::get<AttentionKernels<E>>(attention_table());
}

}  // namespace diopi::cpu
