/// Products of a few rows with a large matrix: one step of a generation. Their time is that of reading the matrix,
/// which is read once, where it is and in its dtype.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/half.hpp"

namespace diopi::cpu {

/// Up to so many rows these loops are as fast as oneDNN's, which first bring the matrix into another order. Measured on
/// an AMD EPYC (Zen 5) guest of two cores.
constexpr int64_t kFewRows = 8;

/// The rows (count, k), `pitch` numbers apart, of which there is memory for kFewRows.
struct FewRows {
    const float* data;
    int64_t pitch, count;
};

/// c (count, n) = rows * b, in float32, for the columns from first_column on; c is dense. E is float or Bfloat16. The
/// order of a sum depends on k alone.
template <class E>
struct FewRowsKernels {
    /// b is (k, n).
    void (*times_matrix)(const FewRows& rows, const E* b, int64_t k, int64_t n, int64_t first_column, int64_t columns,
                         float* c);
    /// b is (n, k), the transpose.
    void (*times_transpose)(const FewRows& rows, const E* b, int64_t k, int64_t n, int64_t first_column,
                            int64_t columns, float* c);
};

using FewRowsTable = std::tuple<FewRowsKernels<float>, FewRowsKernels<Bfloat16>>;
[[nodiscard]] const FewRowsTable& few_rows_table();

}  // namespace diopi::cpu
