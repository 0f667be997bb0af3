/// Sums of rows that go to the same row, for the gradients of functions that pick rows by their numbers.
#pragma once

#include <vector>

#include "kernels/cpu/positions.hpp"

namespace diopi::cpu {

/// The terms of each row of a sum: rows of an operand, in their order.
class RowTerms {
 public:
    /// Row k of the operand goes to row places[k] of `count`; those that go to the row `skipped` are left out.
    RowTerms(Positions places, int64_t count, int64_t skipped = -1);

    [[nodiscard]] int64_t rows() const { return static_cast<int64_t>(first_.size()) - 1; }
    /// Rows and terms, all together and of the rows before `row`: what a thread has to do.
    [[nodiscard]] int64_t work() const { return work_before(rows()); }
    [[nodiscard]] int64_t work_before(int64_t row) const { return row + first_[static_cast<size_t>(row)]; }
    /// The first row whose part of the work begins at `work` or later.
    [[nodiscard]] int64_t row_from(int64_t work) const;
    [[nodiscard]] Positions of(int64_t row) const {
        const int64_t *first = order_.data() + first_[static_cast<size_t>(row)],
                      *last = order_.data() + first_[static_cast<size_t>(row) + 1];
        return {first, last};
    }

 private:
    std::vector<int64_t> first_, order_;
};

/// out[o][row] = the sum of the terms grad[o][k] of this row, each of `size` elements; `divided` by their number. Sums
/// are formed in float32, or float64 where one of the tensors has it, and rounded once. Each row has one thread, so
/// that the result does not depend on their number.
[[nodiscard]] diopiError_t sum_rows(diopiContextHandle_t ctx, const View& grad, const View& out, int64_t size,
                                    const RowTerms& terms, bool divided = false);

/// The same for rows of one element each: out[o][places[k]] = the sum of its terms grad[o][k]. `places` has a list for
/// all o, or one for each. Any number of terms may have one place: their sums are float64.
[[nodiscard]] diopiError_t sum_elements(diopiContextHandle_t ctx, const View& grad, const View& out, int64_t size,
                                        Positions places);

}  // namespace diopi::cpu
