/// Systems of equations with a triangular matrix, on blocks whose products are those of gemm.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/gemm.hpp"

namespace diopi::cpu {

/// The block of rows that is solved at once: its triangle of float64 stays in the cache of the first level.
constexpr int64_t kSolveBlock = 48;

/// Replaces b (n, columns), whose rows are `stride` elements apart, by the x with l x = b, where l is lower triangular.
/// An upper triangular matrix is such a one with its rows and columns, and those of b, in reverse order: strides below
/// 0. `space` has n * columns elements.
template <class T>
void solve_lower(int64_t n, int64_t columns, MatrixView<T> l, bool has_unit_diagonal, T* b, int64_t stride, T* space) {
    for (int64_t start = 0; start < n; start += kSolveBlock) {
        const int64_t end = std::min(start + kSolveBlock, n);
        T* rows = b + start * stride;
        const T* own = l.data + start * l.row_stride;
        // `space` holds the rows above with the contrary sign.
        if (start > 0) {
            gemm<T>(end - start, columns, start, {own, l.row_stride, l.column_stride}, {space, columns, 1}, rows,
                    stride, true);
        }
        for (int64_t i = start; i < end; ++i) {
            T* to = b + i * stride;
            const T* row = l.data + i * l.row_stride;
            for (int64_t j = start; j < i; ++j) {
                const T factor = row[j * l.column_stride];
                const T* from = b + j * stride;
                for (int64_t c = 0; c < columns; ++c) to[c] -= factor * from[c];
            }
            const T diagonal = row[i * l.column_stride];
            for (int64_t c = 0; c < columns && !has_unit_diagonal; ++c) to[c] /= diagonal;
            for (int64_t c = 0; c < columns; ++c) space[i * columns + c] = -to[c];
        }
    }
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
