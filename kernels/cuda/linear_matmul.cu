/// Products of matrices and of batches of them, by cuBLASLt. Half types compute in float32.
#include "kernels/cuda/product/tensors.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/element/nest.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product/copies.hpp"

namespace diopi::cuda {

namespace {

diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const ProductDims& dims, const View& out) {
    return contract(ctx, op, dims.batch, product_of(out, dims.a, dims.b), dims.a, dims.b);
}

/// out = input * other for tensors of `rank` dims; 0: of any.
diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                      const View& other, int64_t rank) {
    ProductDims dims;
    const diopiError_t error = read_product(op, out, input, other, rank, dims);
    return error != diopiSuccess ? error : multiply(ctx, op, dims, out);
}

/// Whether the product can be added to `input` where it is written: not where the result is rounded twice, or where the
/// library might leave the product out, NaN and all.
bool adds_in_place(const View& out, const View& input, const View& mat1, const View& mat2, double beta, double alpha) {
    if (beta == 0 || alpha == 0) return false;
    return out.dtype == input.dtype && out.dtype == mat1.dtype && out.dtype == mat2.dtype;
}

/// out = beta * input + alpha * mat1 * mat2 for matrices (rank 2) or batches of them (rank 3).
diopiError_t add_product(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                         const View& mat1, const View& mat2, double beta, double alpha, int64_t rank) {
    ProductDims dims;
    if (const diopiError_t error = read_product_sum(op, out, input, mat1, mat2, rank, dims); error != diopiSuccess) {
        return error;
    }
    if (beta == 0 && alpha == 1) return multiply(ctx, op, dims, out);
    if (beta != 0) {
        if (const diopiError_t error = check_views(op, out, {&input, 1}); error != diopiSuccess) return error;
    }
    if (adds_in_place(out, input, mat1, mat2, beta, alpha)) {
        return contract(ctx, op, dims.batch, product_of(out, dims.a, dims.b), dims.a, dims.b, {&input, beta}, alpha);
    }
    const auto is_wide = [](const View& v) { return v.dtype == Dtype::float64; };
    View made;
    diopiError_t error = require(
        ctx, out.shape, is_wide(mat1) || is_wide(mat2) || is_wide(input) ? Dtype::float64 : Dtype::float32, made);
    if (error == diopiSuccess) error = multiply(ctx, op, dims, made);
    return error == diopiSuccess ? combine(ctx, op, out, input, made, beta, alpha) : error;
}

}  // namespace

diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t mat2) {
    return multiply(ctx, __func__, view(out), view(input), view(mat2), 2);
}

diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t mat2) {
    return multiply(ctx, __func__, view(out), view(input), view(mat2), 3);
}

diopiError_t diopiMatmul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t other) {
    return multiply(ctx, __func__, view(out), view(input), view(other), 0);
}

diopiError_t diopiMatmulBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                                 diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    const std::string_view op = __func__;
    const View a = view(input), b = view(other), g = view(grad_out);
    ProductDims dims;
    diopiError_t error = read_product_gradient(op, grad_input, grad_other, g, a, b, dims);
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

diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    return add_product(ctx, __func__, view(out), view(input), view(mat1), view(mat2), number<double>(*beta),
                       number<double>(*alpha), 2);
}

diopiError_t diopiBaddbmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta, double alpha) {
    return add_product(ctx, __func__, view(out), view(input), view(batch1), view(batch2), beta, alpha, 3);
}

diopiError_t diopiBaddbmmInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t batch1,
                             diopiConstTensorHandle_t batch2, double beta, double alpha) {
    return add_product(ctx, __func__, view(input), view(input), view(batch1), view(batch2), beta, alpha, 3);
}

}  // namespace diopi::cuda
