/// A batch of matrix products as loops over strided dimensions, and a plan with the fewest library calls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace diopi::cuda {

/// A dimension of c = a * b: its size, and its stride in each matrix; 0 if the matrix does not have it.
struct ProductDim {
    int64_t size = 1;
    int64_t a = 0, b = 0, c = 0;
};

/// c(batch, m, n) = the sum over k of a(batch, m, k) * b(batch, k, n). The products of a batch dimension that c does
/// not have are summed. No size is 0.
struct Product {
    ProductDim m, n, k;
    std::vector<ProductDim> batch;  ///< outermost first
};

/// One library call computes m, n, k for the whole `batch`, a dimension of c; the caller loops over `loops`.
struct ProductPlan {
    ProductDim m, n, k, batch;
    std::vector<ProductDim> loops;

    [[nodiscard]] int64_t calls() const;
    /// Whether several calls add to the same c.
    [[nodiscard]] bool adds() const;
};

/// Batch dimensions become rows, columns or longer sums if the strides allow; the longest of the others becomes
/// `batch`.
[[nodiscard]] ProductPlan plan_product(const Product& product);

/// The layout of a matrix with that many rows and columns and these steps between them.
struct MatrixLayout {
    int64_t pitch = 1;
    bool transposed = false;  ///< column-major
};
/// None if neither rows nor columns are runs of neighbours, or if they overlap.
[[nodiscard]] std::optional<MatrixLayout> matrix_layout(int64_t rows, int64_t row_step, int64_t columns,
                                                        int64_t column_step);

}  // namespace diopi::cuda
