/// A batch of matrix products as loops over strided dimensions, and the fewest products that a library does them in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace diopi::cuda {

/// A dimension of c = a * b: its size, and how many elements apart its neighbours are in each matrix; 0 where the
/// matrix does not have it.
struct ProductDim {
    int64_t size = 1;
    int64_t a = 0, b = 0, c = 0;
};

/// c(batch, m, n) = the sum over k of a(batch, m, k) * b(batch, k, n). The products of a batch dimension that c does
/// not have are added up. No size is 0.
struct Product {
    ProductDim m, n, k;
    std::vector<ProductDim> batch;  ///< outermost first
};

/// One call of the library does m, n, k for the whole of `batch`, which c has; `loops` are left to the caller.
struct ProductPlan {
    ProductDim m, n, k, batch;
    std::vector<ProductDim> loops;

    [[nodiscard]] int64_t calls() const;
    /// Whether several calls add to the same c.
    [[nodiscard]] bool adds() const;
};

/// Batch dimensions become rows, columns or longer sums where the strides allow; of the others the longest is the
/// library's.
[[nodiscard]] ProductPlan plan_product(const Product& product);

/// How a matrix of that many rows and columns lies, given the steps between both.
struct MatrixLayout {
    int64_t pitch = 1;
    bool transposed = false;  ///< column-major
};
/// Nothing where neither rows nor columns are runs of neighbours, or where they overlap.
[[nodiscard]] std::optional<MatrixLayout> matrix_layout(int64_t rows, int64_t row_step, int64_t columns,
                                                        int64_t column_step);

}  // namespace diopi::cuda
