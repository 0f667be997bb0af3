/// Tensors as batches of matrices, and their products: what matmul and linear share.
#pragma once

#include "kernels/cuda/product.hpp"
#include "kernels/cuda/view.hpp"

namespace diopi::cuda {

/// A tensor as a batch of matrices: `lead` batch dimensions, then rows and columns in either order. A matrix of one row
/// or one column may lack that dimension (-1).
struct Operand {
    View view;
    size_t lead = 0;
    int row_dim = -1, column_dim = -1;

    [[nodiscard]] int64_t rows() const { return size(row_dim); }
    [[nodiscard]] int64_t columns() const { return size(column_dim); }
    [[nodiscard]] int64_t row_step() const { return step(row_dim); }
    [[nodiscard]] int64_t column_step() const { return step(column_dim); }
    [[nodiscard]] ShapeView batch() const { return view.shape.first(lead); }

 private:
    [[nodiscard]] int64_t size(int dim) const { return dim < 0 ? 1 : view.shape[static_cast<size_t>(dim)]; }
    [[nodiscard]] int64_t step(int dim) const { return dim < 0 ? 0 : view.strides[static_cast<size_t>(dim)]; }
};

enum class Side { kLeft, kRight };

/// A factor of rank 1 or more; a vector is a row on the left, a column on the right.
[[nodiscard]] Operand factor(const View& v, Side side);
/// The product of two factors, or its gradient: without the dimensions that vectors lack.
[[nodiscard]] Operand product_of(const View& v, const Operand& a, const Operand& b);
[[nodiscard]] Operand transpose(Operand x);

/// What is added to a product.
struct Addend {
    const View* view = nullptr;  ///< broadcasts to c; null: nothing
    double weight = 1;           ///< not 0
};

/// c = alpha * a * b + addend for every index of `batch`, to which the batch dimensions of all three broadcast. Where
/// c has fewer, the products that fall on the same matrix are added up; then there is no addend. Any strides, any real
/// dtypes; computes in float64 where a factor is of it, else in float32. alpha is not 0.
[[nodiscard]] diopiError_t contract(diopiContextHandle_t ctx, std::string_view op, ShapeView batch, const Operand& c,
                                    Operand a, Operand b, const Addend& addend = {}, double alpha = 1);

}  // namespace diopi::cuda
