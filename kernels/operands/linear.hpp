/// Products of matrices and the linear layer: tensors as batches of matrices, and the checks of their arguments. Shared
/// by the backends cpu and cuda.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kernels/operands/promotion.hpp"

namespace diopi::operands {

/// A tensor as a batch of matrices: `lead` batch dimensions, then rows and columns in either order. A matrix of one row
/// or one column may lack that dimension (-1).
struct MatrixBatch {
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
[[nodiscard]] MatrixBatch factor(const View& v, Side side);
/// The product of two factors, or its gradient: without the dimensions that vectors lack.
[[nodiscard]] MatrixBatch product_of(const View& v, const MatrixBatch& a, const MatrixBatch& b);
[[nodiscard]] MatrixBatch transpose(MatrixBatch x);

/// A product of two factors: its batch dimensions, and its shape.
struct ProductDims {
    MatrixBatch a, b;
    Shape batch, out;
};

/// Refuses factors whose sizes do not fit each other.
[[nodiscard]] diopiError_t read_product(std::string_view op, const View& input, const View& other, ProductDims& dims);
/// The same for tensors of `rank` dimensions (0: of any number) and their product.
[[nodiscard]] diopiError_t read_product(std::string_view op, const View& out, const View& input, const View& other,
                                        int64_t rank, ProductDims& dims);
/// The same for the arguments of the gradient; the gradients may be null.
[[nodiscard]] diopiError_t read_product_gradient(std::string_view op, diopiTensorHandle_t grad_input,
                                                 diopiTensorHandle_t grad_other, const View& grad_out,
                                                 const View& input, const View& other, ProductDims& dims);
/// The same for out = beta * input + alpha * mat1 * mat2.
[[nodiscard]] diopiError_t read_product_sum(std::string_view op, const View& out, const View& input, const View& mat1,
                                            const View& mat2, int64_t rank, ProductDims& dims);
/// Whether products of these tensors, and sums with them, are computed in float64; else in float32.
[[nodiscard]] bool computes_in_float64(std::initializer_list<View> tensors);

/// A factor of a sum, as C functions take it: as a double or as a number. Both convert to it.
struct Factor {
    Factor(double real) : value(real) {}
    Factor(const diopiScalar_t* scalar) : value(number<double>(*scalar)) {}

    double value;
};

/// The linear layer: input (..., in) times weight (out, in), transposed.
struct Linear {
    View input, weight;

    [[nodiscard]] int64_t in() const { return weight.shape[1]; }
    [[nodiscard]] int64_t out() const { return weight.shape[0]; }
    /// Rows of input and out: the leading dimensions flattened.
    [[nodiscard]] int64_t rows() const { return numel(input.shape.first(input.shape.size() - 1)); }
    /// A bias, or its gradient, of one number for each column; others broadcast to out.
    [[nodiscard]] bool is_row(const View& bias) const;
};

/// Refuses tensors that do not fit each other; `bias` may be null.
[[nodiscard]] diopiError_t read_linear(std::string_view op, const View& out, const View& input, const View& weight,
                                       diopiConstTensorHandle_t bias, Linear& x);
/// The same for the gradients, each of which may be null.
[[nodiscard]] diopiError_t read_linear_gradient(std::string_view op, const View& grad_output, const View& input,
                                                const View& weight, diopiTensorHandle_t grad_input,
                                                diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                                Linear& x);

}  // namespace diopi::operands
