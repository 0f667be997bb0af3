/// Rows along one dimension of a tensor.
#pragma once

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// A contiguous tensor read as (outer, n, inner), with n along the dimension; a 0-dim tensor is a row of one element.
struct RowsAlong {
    int64_t outer = 1, n = 1, inner = 1;

    RowsAlong(ShapeView shape, int64_t dim) {
        const auto d = static_cast<size_t>(require_dim(dim, static_cast<int64_t>(shape.size())));
        if (shape.empty()) return;
        outer = numel(shape.first(d));
        n = shape[d];
        inner = numel(shape.subspan(d + 1));
    }
    [[nodiscard]] int64_t count() const { return outer * inner; }
    /// Element k of a row, where rows have `size` elements.
    [[nodiscard]] int64_t place(int64_t row, int64_t k, int64_t size) const {
        return (row / inner * size + k) * inner + row % inner;
    }
    [[nodiscard]] int64_t place(int64_t row, int64_t k) const { return place(row, k, n); }
};

}  // namespace diopi::reference
