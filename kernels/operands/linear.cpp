#include "kernels/operands/linear.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/operands/refusal.hpp"

namespace diopi::operands {

namespace {

/// Refuses a gradient of another shape; null is accepted.
diopiError_t check_gradient(std::string_view op, std::string_view argument, diopiTensorHandle_t gradient,
                            ShapeView wanted) {
    return gradient == nullptr ? diopiSuccess : check_shape(op, argument, view(gradient), wanted);
}

}  // namespace

MatrixBatch factor(const View& v, Side side) {
    const auto last = static_cast<int>(v.shape.size()) - 1;
    if (last == 0) return side == Side::kLeft ? MatrixBatch{v, 0, -1, 0} : MatrixBatch{v, 0, 0, -1};
    return {v, v.shape.size() - 2, last - 1, last};
}

MatrixBatch product_of(const View& v, const MatrixBatch& a, const MatrixBatch& b) {
    MatrixBatch x{v, 0, -1, -1};
    auto dim = static_cast<int>(v.shape.size());
    if (b.column_dim >= 0) x.column_dim = --dim;
    if (a.row_dim >= 0) x.row_dim = --dim;
    x.lead = static_cast<size_t>(dim);
    return x;
}

MatrixBatch transpose(MatrixBatch x) {
    std::swap(x.row_dim, x.column_dim);
    return x;
}

diopiError_t read_product(std::string_view op, const View& input, const View& other, ProductDims& dims) {
    for (const auto& [v, argument] : {std::pair{&input, "input"}, {&other, "other"}}) {
        if (const diopiError_t error = check_computable(op, argument, *v); error != diopiSuccess) return error;
        if (v->shape.empty()) return wrong_shape(op, argument, v->shape, "one dimension or more");
    }
    dims.a = factor(input, Side::kLeft), dims.b = factor(other, Side::kRight);
    if (dims.a.columns() != dims.b.rows()) {
        return wrong_shape(op, "other", other.shape, std::to_string(dims.a.columns()) + " rows, as input has columns");
    }
    const auto batch = broadcast_shapes(dims.a.batch(), dims.b.batch());
    if (!batch) return wrong_shape(op, "other", other.shape, "a batch that broadcasts with " + to_string(input.shape));
    dims.batch = dims.out = *batch;
    if (input.rank() > 1) dims.out.push_back(dims.a.rows());
    if (other.rank() > 1) dims.out.push_back(dims.b.columns());
    return diopiSuccess;
}

diopiError_t read_product(std::string_view op, const View& out, const View& input, const View& other, int64_t rank,
                          ProductDims& dims) {
    if (rank == 3 && input.rank() == 3 && other.rank() == 3 && input.shape[0] != other.shape[0]) {
        return wrong_shape(op, "mat2", other.shape, "input's batch of " + std::to_string(input.shape[0]));
    }
    for (const auto& [v, argument] : {std::pair{&input, "input"}, {&other, "mat2"}}) {
        if (rank != 0 && v->rank() != rank) {
            return wrong_shape(op, argument, v->shape, std::to_string(rank) + " dimensions");
        }
    }
    if (const diopiError_t error = read_product(op, input, other, dims); error != diopiSuccess) return error;
    return check_shape(op, "out", out, dims.out);
}

diopiError_t read_product_gradient(std::string_view op, diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_other,
                                   const View& grad_out, const View& input, const View& other, ProductDims& dims) {
    diopiError_t error = read_product(op, input, other, dims);
    if (error == diopiSuccess) error = check_shape(op, "grad_out", grad_out, dims.out);
    if (error == diopiSuccess) error = check_gradient(op, "grad_input", grad_input, input.shape);
    return error == diopiSuccess ? check_gradient(op, "grad_other", grad_other, other.shape) : error;
}

diopiError_t read_product_sum(std::string_view op, const View& out, const View& input, const View& mat1,
                              const View& mat2, int64_t rank, ProductDims& dims) {
    for (const auto& [v, argument] : {std::pair{&mat1, "the first factor"}, {&mat2, "the second factor"}}) {
        if (v->rank() != rank) return wrong_shape(op, argument, v->shape, std::to_string(rank) + " dimensions");
    }
    if (const diopiError_t error = check_computable(op, "input", input); error != diopiSuccess) return error;
    if (const diopiError_t error = read_product(op, mat1, mat2, dims); error != diopiSuccess) return error;
    return check_shape(op, "out", out, dims.out);
}

bool computes_in_float64(std::initializer_list<View> tensors) {
    return std::ranges::any_of(tensors, [](const View& v) { return v.dtype == Dtype::float64; });
}

bool Linear::is_row(const View& bias) const {
    return bias.numel == out() && !bias.shape.empty() && bias.shape.back() == out();
}

diopiError_t read_linear(std::string_view op, const View& out, const View& input, const View& weight,
                         diopiConstTensorHandle_t bias, Linear& x) {
    if (const diopiError_t error = check_computable(op, "input", input); error != diopiSuccess) return error;
    if (input.shape.empty()) return wrong_shape(op, "input", input.shape, "(..., in)");
    if (weight.rank() != 2 || weight.shape[1] != input.shape.back()) {
        return wrong_shape(op, "weight", weight.shape, "(out, " + std::to_string(input.shape.back()) + ")");
    }
    x = {input, weight};
    Shape wanted(input.shape.begin(), input.shape.end());
    wanted.back() = x.out();
    if (const diopiError_t error = check_shape(op, "out", out, wanted); error != diopiSuccess) return error;
    if (bias == nullptr || x.is_row(view(bias)) || broadcasts_to(view(bias).shape, out.shape)) return diopiSuccess;
    return wrong_shape(op, "bias", view(bias).shape, to_string(Shape{x.out()}));
}

diopiError_t read_linear_gradient(std::string_view op, const View& grad_output, const View& input, const View& weight,
                                  diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                  diopiTensorHandle_t grad_bias, Linear& x) {
    diopiError_t error = read_linear(op, grad_output, input, weight, nullptr, x);
    if (error != diopiSuccess) return error;
    if (grad_bias != nullptr) {
        const View gb = view(grad_bias);
        if (!x.is_row(gb) && gb.rank() > grad_output.rank()) {
            return wrong_shape(op, "grad_bias", gb.shape, "one that broadcasts to grad_output");
        }
    }
    error = check_gradient(op, "grad_input", grad_input, input.shape);
    return error == diopiSuccess ? check_gradient(op, "grad_weight", grad_weight, weight.shape) : error;
}

}  // namespace diopi::operands
