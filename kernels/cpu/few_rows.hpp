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

/// A dense matrix (k, n), or its transpose (n, k) in memory. E is float or Bfloat16.
template <class E>
struct FewRowsOperand {
    const E* data;
    bool transposed;
    int64_t k, n;
};

/// c (count, n) = rows * b, in float32, for some of the columns; c is dense. The order of a sum depends on k and on the
/// transposition alone.
template <class E>
using FewRowsKernel = void (*)(const FewRows& rows, const FewRowsOperand<E>& b, int64_t first_column, int64_t columns,
                               float* c);

using FewRowsTable = std::tuple<FewRowsKernel<float>, FewRowsKernel<Bfloat16>>;
[[nodiscard]] const FewRowsTable& few_rows_table();

}  // namespace diopi::cpu
