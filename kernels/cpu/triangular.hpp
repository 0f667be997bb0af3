/// Systems of equations with a triangular matrix, on blocks whose products are those of gemm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/instruction_sets.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/threads.hpp"

namespace diopi::cpu {

/// The block of rows that is solved at once: its triangle of float64 stays in the cache of the first level.
constexpr int64_t kSolveBlock = 48;
/// Columns that are solved together: so many of a block's rows stay there, too.
constexpr int64_t kSolveColumns = 64;

/// solve_lower of one block, without products.
template <class T>
void solve_block(int64_t n, int64_t columns, MatrixView<T> l, bool has_unit_diagonal, T* b, int64_t stride) {
    for (int64_t first = 0; first < columns; first += kSolveColumns) {
        const int64_t size = std::min(kSolveColumns, columns - first);
        T* part = b + first;
        for (int64_t i = 0; i < n; ++i) {
            T* __restrict to = part + i * stride;
            const T* row = l.data + i * l.row_stride;
            const auto factor = [&](int64_t j) { return row[j * l.column_stride]; };
            int64_t j = 0;
            for (; j + 4 <= i; j += 4) {
                const T f0 = factor(j), f1 = factor(j + 1), f2 = factor(j + 2), f3 = factor(j + 3);
                const T *b0 = part + j * stride, *b1 = b0 + stride, *b2 = b1 + stride, *b3 = b2 + stride;
                for (int64_t c = 0; c < size; ++c) to[c] = to[c] - f0 * b0[c] - f1 * b1[c] - f2 * b2[c] - f3 * b3[c];
            }
            for (; j < i; ++j) {
                const T own = factor(j), *from = part + j * stride;
                for (int64_t c = 0; c < size; ++c) to[c] -= own * from[c];
            }
            const T diagonal = factor(i);
            for (int64_t c = 0; c < size && !has_unit_diagonal; ++c) to[c] /= diagonal;
        }
    }
}

/// Calls solve(first column, number of columns) for parts of the columns of a system of n rows, each in its own thread.
template <class Solve>
void for_each_columns(int64_t n, int64_t columns, const Solve& solve) {
    parallel_for((columns + kSolveColumns - 1) / kSolveColumns, n * n / 8 * kSolveColumns,
                 [&](int64_t begin, int64_t end) {
                     const int64_t first = begin * kSolveColumns;
                     solve(first, std::min(end * kSolveColumns, columns) - first);
                 });
}

/// Replaces b (n, columns), whose rows are `stride` elements apart, by the x with l x = b, where l is lower triangular.
/// An upper triangular matrix is such a one with its rows and columns, and those of b, in reverse order: strides below
/// 0. `space` has n * columns elements.
template <class T>
void solve_lower(int64_t n, int64_t columns, MatrixView<T> l, bool has_unit_diagonal, T* b, int64_t stride, T* space) {
    const auto solve = best<solve_block<T>>();
    const auto in_part = [&](int64_t first, int64_t size) {
        T* above = space + n * first;  // the rows above with the contrary sign
        for (int64_t start = 0; start < n; start += kSolveBlock) {
            const int64_t end = std::min(start + kSolveBlock, n);
            T* rows = b + start * stride + first;
            const T* own = l.data + start * l.row_stride;
            if (start > 0) {
                gemm<T>(end - start, size, start, {own, l.row_stride, l.column_stride}, {above, size, 1}, rows, stride,
                        true);
            }
            const MatrixView<T> triangle{own + start * l.column_stride, l.row_stride, l.column_stride};
            solve(end - start, size, triangle, has_unit_diagonal, rows, stride);
            for (int64_t i = start; i < end; ++i) {
                const T* row = b + i * stride + first;
                for (int64_t c = 0; c < size; ++c) above[i * size + c] = -row[c];
            }
        }
    };
    for_each_columns(n, columns, in_part);
}

/// The same for a triangular matrix of either kind, dense in memory, or its transpose: `is_lower` is the kind after the
/// transposition. b is dense.
template <class T>
void solve_triangular(int64_t n, int64_t columns, const T* matrix, bool is_transposed, bool is_lower,
                      bool has_unit_diagonal, T* b, T* space) {
    MatrixView<T> l{matrix, n, 1};
    if (is_transposed) std::swap(l.row_stride, l.column_stride);
    if (is_lower) return solve_lower<T>(n, columns, l, has_unit_diagonal, b, columns, space);
    l = {matrix + n * n - 1, -l.row_stride, -l.column_stride};
    solve_lower<T>(n, columns, l, has_unit_diagonal, b + (n - 1) * columns, -columns, space);
}

}  // namespace diopi::cpu
