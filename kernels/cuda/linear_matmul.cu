/// Products of matrices and of batches of them, by cuBLASLt. Half types compute in float32.
#include "kernels/cuda/product/tensors.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product/copies.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const ProductDims& dims, const View& out) {
    return contract(ctx, op, dims.batch, product_of(out, dims.a, dims.b), dims.a, dims.b);
}

template <int64_t kRank>
diopiError_t matmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const View y = view(out);
    ProductDims dims;
    const diopiError_t error = read_product(op, y, view(input), view(other), kRank, dims);
    return error == diopiSuccess ? multiply(ctx, op, dims, y) : error;
}

diopiError_t matmul_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const View g = view(grad_out);
    ProductDims dims;
    diopiError_t error = read_product_gradient(op, grad_input, grad_other, g, view(input), view(other), dims);
    if (error != diopiSuccess) return error;
    const MatrixBatch grad = product_of(g, dims.a, dims.b);
    if (grad_input != nullptr) {
        error = contract(ctx, op, dims.batch, factor(view(grad_input), Side::kLeft), grad, transpose(dims.b));
    }
    if (grad_other != nullptr && error == diopiSuccess) {
        error = contract(ctx, op, dims.batch, factor(view(grad_other), Side::kRight), transpose(dims.a), grad);
    }
    return error;
}

/// Whether the product can be added to `input` where it is written: not where the result would be rounded twice, nor
/// where the library might leave the product out, NaN and all.
bool adds_in_place(const View& out, const View& input, const View& mat1, const View& mat2, double beta, double alpha) {
    if (beta == 0 || alpha == 0) return false;
    return out.dtype == input.dtype && out.dtype == mat1.dtype && out.dtype == mat2.dtype;
}

/// out = beta * input + alpha * mat1 * mat2.
template <int64_t kRank>
diopiError_t add_matmul(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2,
                        const Factor& beta, const Factor& alpha) {
    const View y = view(out), addend = view(input), a = view(mat1), b = view(mat2);
    ProductDims dims;
    if (const diopiError_t error = read_product_sum(op, y, addend, a, b, kRank, dims); error != diopiSuccess) {
        return error;
    }
    if (beta.value == 0 && alpha.value == 1) return multiply(ctx, op, dims, y);
    if (beta.value != 0) {
        if (const diopiError_t error = check_views(op, y, {&addend, 1}); error != diopiSuccess) return error;
    }
    if (adds_in_place(y, addend, a, b, beta.value, alpha.value)) {
        return contract(ctx, op, dims.batch, product_of(y, dims.a, dims.b), dims.a, dims.b, {&addend, beta.value},
                        alpha.value);
    }
    const bool is_wide = computes_in_float64({a, b, addend});
    View made;
    diopiError_t error = require(ctx, y.shape, is_wide ? Dtype::float64 : Dtype::float32, made);
    if (error == diopiSuccess) error = multiply(ctx, op, dims, made);
    return error == diopiSuccess ? combine(ctx, op, y, addend, made, beta.value, alpha.value) : error;
}

}  // namespace

#include "kernels/entries/linear_matmul.inc"

}  // namespace diopi::cuda
