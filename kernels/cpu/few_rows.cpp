#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/few_rows.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/cpu/few_rows.hpp"
#include "kernels/cpu/vector_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

/// Terms that are added one after the other: a longer sum is that of its parts.
constexpr int64_t kDepthPart = 256;
/// Sums of some columns that stay in the L1 cache.
constexpr int64_t kSumsAtOnce = 4096;
/// Rows of the matrix that are added between a load and a store of the sums.
constexpr int kRowsAtOnce = 8;

/// sums (kRows, columns) += rows * b of kTerms terms, for kVectors vectors of columns; `last` elements of the last one.
template <int kRows, int kTerms, int kVectors, class E>
HWY_INLINE void add_vectors(const float* rows, int64_t pitch, const E* b, int64_t n, int64_t columns, int64_t last,
                            float* sums) {
    constexpr int64_t kStep = kLanesOf<float>;
    Vec<float> sum[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
            sum[i][v] = load_up_to(sums + i * columns + v * kStep, v + 1 < kVectors ? kStep : last);
        }
    }
#pragma GCC unroll 8
    for (int term = 0; term < kTerms; ++term) {
        Vec<float> of_b[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
            of_b[v] = load_up_to(b + term * n + v * kStep, v + 1 < kVectors ? kStep : last);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const Vec<float> factor = set(rows[i * pitch + term]);
#pragma GCC unroll 2
            for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(factor, of_b[v], sum[i][v]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
            store_up_to(sum[i][v], sums + i * columns + v * kStep, v + 1 < kVectors ? kStep : last);
        }
    }
}

/// The same for all columns.
template <int kRows, int kTerms, class E>
HWY_INLINE void add_terms(const float* rows, int64_t pitch, const E* b, int64_t n, int64_t columns, float* sums) {
    constexpr int64_t kStep = kLanesOf<float>;
    int64_t j = 0;
    for (; j + 2 * kStep <= columns; j += 2 * kStep) {
        add_vectors<kRows, kTerms, 2>(rows, pitch, b + j, n, columns, kStep, sums + j);
    }
    for (; j < columns; j += kStep) {
        add_vectors<kRows, kTerms, 1>(rows, pitch, b + j, n, columns, std::min(kStep, columns - j), sums + j);
    }
}

template <int kRows, class E>
void times_matrix(const FewRows& rows, const E* b, int64_t k, int64_t n, int64_t first_column, int64_t columns,
                  float* c) {
    static_assert(kSumsAtOnce % kRows == 0);
    HWY_ALIGN float sums[kSumsAtOnce];
    const int64_t most = kSumsAtOnce / kRows, end = first_column + columns;
    for (int64_t column = first_column; column < end; column += most) {
        const int64_t size = std::min(most, end - column);
        for (int64_t start = 0; start < k; start += kDepthPart) {
            const int64_t depth = std::min(kDepthPart, k - start);
            std::fill_n(sums, kRows * size, 0.0F);
            int64_t term = start;
            for (; term + kRowsAtOnce <= start + depth; term += kRowsAtOnce) {
                add_terms<kRows, kRowsAtOnce>(rows.data + term, rows.pitch, b + term * n + column, n, size, sums);
            }
            for (; term < start + depth; ++term) {
                add_terms<kRows, 1>(rows.data + term, rows.pitch, b + term * n + column, n, size, sums);
            }
            for (int64_t i = 0; i < rows.count; ++i) {
                float* to = c + i * n + column;
                for (int64_t j = 0; j < size; ++j) to[j] = start == 0 ? sums[i * size + j] : to[j] + sums[i * size + j];
            }
        }
    }
}

/// One row times one column: neighbours in memory, in four sums, so that additions do not wait for each other.
template <class E>
HWY_INLINE double dot(const float* row, const E* column, int64_t k) {
    constexpr int64_t kStep = kLanesOf<float>;
    Vec<float> sum[4];
#pragma GCC unroll 4
    for (auto& x : sum) x = hn::Zero(Tag<float>());
    int64_t at = 0;
    for (; at + 4 * kStep <= k; at += 4 * kStep) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
            sum[v] = hn::MulAdd(load(row + at + v * kStep), load(column + at + v * kStep), sum[v]);
    }
    for (; at < k; at += kStep) {
        const int64_t lanes = std::min(kStep, k - at);
        sum[0] = hn::MulAdd(load_up_to(row + at, lanes), load_up_to(column + at, lanes), sum[0]);
    }
    return lane_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/// All rows times kColumns columns.
template <int kRows, int kColumns, class E>
HWY_INLINE void dot_rows(const FewRows& rows, const E* b, int64_t pitch, int64_t k, double* totals) {
    constexpr int64_t kStep = kLanesOf<float>;
    Vec<float> sum[kRows][kColumns];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::Zero(Tag<float>());
    }
    for (int64_t at = 0; at < k; at += kStep) {
        const int64_t lanes = std::min(kStep, k - at);
        Vec<float> of_b[kColumns];
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) of_b[j] = load_up_to(b + j * pitch + at, lanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const Vec<float> of_row = load_up_to(rows.data + i * rows.pitch + at, lanes);
#pragma GCC unroll 4
            for (int j = 0; j < kColumns; ++j) sum[i][j] = hn::MulAdd(of_row, of_b[j], sum[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) totals[i * kColumns + j] += lane_sum(sum[i][j]);
    }
}

/// c = all rows times kColumns columns, in parts of the terms.
template <int kRows, int kColumns, class E>
HWY_INLINE void write_dots(const FewRows& rows, const E* b, int64_t k, int64_t n, float* c) {
    constexpr int64_t kPart = kLanesOf<float> * kDepthPart;
    double totals[kRows * kColumns] = {};
    for (int64_t start = 0; start < k; start += kPart) {
        const int64_t depth = std::min(kPart, k - start);
        const FewRows part{rows.data + start, rows.pitch, rows.count};
        if constexpr (kRows == 1 && kColumns == 1)
            totals[0] += dot(part.data, b + start, depth);
        else
            dot_rows<kRows, kColumns>(part, b + start, k, depth, totals);
    }
    for (int64_t i = 0; i < rows.count; ++i) {
        for (int j = 0; j < kColumns; ++j) c[i * n + j] = static_cast<float>(totals[i * kColumns + j]);
    }
}

template <int kRows, class E>
void times_transpose(const FewRows& rows, const E* b, int64_t k, int64_t n, int64_t first_column, int64_t columns,
                     float* c) {
    // Several columns share the loads of the rows, as far as registers hold their sums. One row needs none.
    constexpr int kColumns = kRows == 1 ? 1 : kRows > 4 ? 2 : 4;
    int64_t column = first_column;
    for (; column + kColumns <= first_column + columns; column += kColumns) {
        write_dots<kRows, kColumns>(rows, b + column * k, k, n, c + column);
    }
    for (; column < first_column + columns; ++column) write_dots<kRows, 1>(rows, b + column * k, k, n, c + column);
}

template <int kRows, class E>
void times(const FewRows& rows, const FewRowsOperand<E>& b, int64_t first_column, int64_t columns, float* c) {
    const auto run = b.transposed ? times_transpose<kRows, E> : times_matrix<kRows, E>;
    run(rows, b.data, b.k, b.n, first_column, columns, c);
}

/// Rows that are missing for a loop's number are computed, and not stored.
template <class E>
void multiply(const FewRows& rows, const FewRowsOperand<E>& b, int64_t first_column, int64_t columns, float* c) {
    const auto run = rows.count == 1   ? times<1, E>
                     : rows.count == 2 ? times<2, E>
                     : rows.count <= 4 ? times<4, E>
                                       : times<8, E>;
    run(rows, b, first_column, columns, c);
}

FewRowsTable Kernels() { return {multiply<float>, multiply<Bfloat16>}; }

}  // namespace

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

DIOPI_BEST(FewRowsTable, few_rows_table)

}  // namespace diopi::cpu
#endif
