/// Products of matrices and of batches of them, by cuBLASLt. Half types compute in float32.
#include "kernels/cuda/matmul.hpp"

#include <algorithm>
#include <utility>

#include "kernels/cuda/nest.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product_copies.hpp"

namespace diopi::cuda {

namespace {

/// What a product of two operands is: its batch dims, and the shape of the tensor.
struct ProductDims {
    Operand a, b;
    Shape batch, out;
};

diopiError_t read_dims(std::string_view op, const View& input, const View& other, ProductDims& dims) {
    for (const auto& [v, argument] : {std::pair{&input, "input"}, {&other, "other"}}) {
        if (!is_computable(v->dtype)) return unsupported(op, argument, v->dtype, "a floating dtype");
        if (v->shape.empty()) return wrong_shape(op, argument, v->shape, "one dimension or more");
    }
    dims.a = factor(input, Side::kLeft), dims.b = factor(other, Side::kRight);
    if (dims.a.columns() != dims.b.rows()) {
        return wrong_shape(op, "other", other.shape, std::to_string(dims.a.columns()) + " rows, as input has columns");
    }
    const auto batch = broadcast_shapes(dims.a.batch(), dims.b.batch());
    if (!batch) return wrong_shape(op, "other", other.shape, "a batch that broadcasts with " + to_string(input.shape));
    dims.batch = dims.out = *batch;
    if (input.shape.size() > 1) dims.out.push_back(dims.a.rows());
    if (other.shape.size() > 1) dims.out.push_back(dims.b.columns());
    return diopiSuccess;
}

diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const ProductDims& dims, const View& out) {
    return contract(ctx, op, dims.batch, product_of(out, dims.a, dims.b), dims.a, dims.b);
}

/// out = input * other for tensors of `rank` dims; 0: of any.
diopiError_t multiply(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                      const View& other, size_t rank) {
    for (const auto& [v, argument] : {std::pair{&input, "input"}, {&other, "mat2"}}) {
        if (rank != 0 && v->shape.size() != rank) {
            return wrong_shape(op, argument, v->shape, std::to_string(rank) + " dimensions");
        }
    }
    ProductDims dims;
    if (const diopiError_t error = read_dims(op, input, other, dims); error != diopiSuccess) return error;
    if (!std::ranges::equal(out.shape, dims.out)) return wrong_shape(op, "out", out.shape, to_string(dims.out));
    return multiply(ctx, op, dims, out);
}

/// Whether the product can be added to `input` where it is written: not where the result is rounded twice, or where the
/// library might leave the product out, NaN and all.
bool adds_in_place(const View& out, const View& input, const View& mat1, const View& mat2, double beta, double alpha) {
    if (beta == 0 || alpha == 0) return false;
    return out.dtype == input.dtype && out.dtype == mat1.dtype && out.dtype == mat2.dtype;
}

/// out = beta * input + alpha * mat1 * mat2 for matrices (rank 2) or batches of them (rank 3).
diopiError_t add_product(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input,
                         const View& mat1, const View& mat2, double beta, double alpha, size_t rank) {
    for (const auto& [v, argument] : {std::pair{&mat1, "the first factor"}, {&mat2, "the second factor"}}) {
        if (v->shape.size() != rank) return wrong_shape(op, argument, v->shape, std::to_string(rank) + " dimensions");
    }
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    ProductDims dims;
    if (const diopiError_t error = read_dims(op, mat1, mat2, dims); error != diopiSuccess) return error;
    if (!std::ranges::equal(out.shape, dims.out)) return wrong_shape(op, "out", out.shape, to_string(dims.out));
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
    return multiply(ctx, "diopiMm", view(out), view(input), view(mat2), 2);
}

diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t mat2) {
    const View a = view(input), b = view(mat2);
    if (a.shape.size() == 3 && b.shape.size() == 3 && a.shape[0] != b.shape[0]) {
        return wrong_shape("diopiBmm", "mat2", b.shape, "input's batch of " + std::to_string(a.shape[0]));
    }
    return multiply(ctx, "diopiBmm", view(out), a, b, 3);
}

diopiError_t diopiMatmul(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t other) {
    return multiply(ctx, "diopiMatmul", view(out), view(input), view(other), 0);
}

diopiError_t diopiMatmulBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                                 diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    constexpr std::string_view kOp = "diopiMatmulBackward";
    const View a = view(input), b = view(other), g = view(grad_out);
    ProductDims dims;
    if (const auto error = read_dims(kOp, a, b, dims); error != diopiSuccess) return error;
    if (!std::ranges::equal(g.shape, dims.out)) return wrong_shape(kOp, "grad_out", g.shape, to_string(dims.out));
    const Operand grad = product_of(g, dims.a, dims.b);
    diopiError_t error = diopiSuccess;
    if (grad_input != nullptr) {
        const View ga = view(grad_input);
        if (!std::ranges::equal(ga.shape, a.shape)) return wrong_shape(kOp, "grad_input", ga.shape, to_string(a.shape));
        error = contract(ctx, kOp, dims.batch, factor(ga, Side::kLeft), grad, transpose(dims.b));
    }
    if (grad_other != nullptr && error == diopiSuccess) {
        const View gb = view(grad_other);
        if (!std::ranges::equal(gb.shape, b.shape)) return wrong_shape(kOp, "grad_other", gb.shape, to_string(b.shape));
        error = contract(ctx, kOp, dims.batch, factor(gb, Side::kRight), transpose(dims.a), grad);
    }
    return error;
}

diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1, diopiConstTensorHandle_t mat2, const diopiScalar_t* beta,
                        const diopiScalar_t* alpha) {
    return add_product(ctx, "diopiAddmm", view(out), view(input), view(mat1), view(mat2), number<double>(*beta),
                       number<double>(*alpha), 2);
}

diopiError_t diopiBaddbmm(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta, double alpha) {
    return add_product(ctx, "diopiBaddbmm", view(out), view(input), view(batch1), view(batch2), beta, alpha, 3);
}

diopiError_t diopiBaddbmmInp(diopiContextHandle_t ctx, diopiTensorHandle_t input, diopiConstTensorHandle_t batch1,
                             diopiConstTensorHandle_t batch2, double beta, double alpha) {
    return add_product(ctx, "diopiBaddbmmInp", view(input), view(input), view(batch1), view(batch2), beta, alpha, 3);
}

}  // namespace diopi::cuda
