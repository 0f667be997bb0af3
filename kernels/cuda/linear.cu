/// The linear layer: cuBLASLt's matrix product, which adds the bias; the bias's gradient by a sum of our own.
#include <algorithm>

#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product/copies.hpp"
#include "kernels/cuda/product/sums.hpp"
#include "kernels/cuda/product/tensors.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cuda {

namespace {

/// The row without the dimensions of size 1 before its columns: they could be more than out has.
View without_lead(View row) {
    row.shape = row.shape.last(1);
    row.strides = row.strides.last(1);
    return row;
}

diopiError_t linear(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    const View y = view(out);
    Linear x;
    const diopiError_t error = read_linear(op, y, view(input), view(weight), bias, x);
    if (error != diopiSuccess) return error;
    Addend addend;
    View added;
    if (bias != nullptr) {
        added = view(bias);
        if (x.is_row(added)) added = without_lead(added);
        addend.view = &added;
    }
    const MatrixBatch a = factor(x.input, Side::kLeft), b = transpose(factor(x.weight, Side::kRight));
    return contract(ctx, op, a.batch(), product_of(y, a, b), a, b, addend);
}

diopiError_t linear_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t weight) {
    const View g = view(grad_output);
    Linear x;
    diopiError_t error = read_linear_gradient(op, g, view(input), view(weight), grad_input, grad_weight, grad_bias, x);
    if (error != diopiSuccess) return error;
    const MatrixBatch a = factor(x.input, Side::kLeft), b = transpose(factor(x.weight, Side::kRight));
    const MatrixBatch grad = product_of(g, a, b);
    if (grad_bias != nullptr) {
        const View gb = view(grad_bias);
        error = sum_to(ctx, op, x.is_row(gb) ? without_lead(gb) : gb, g);
    }
    if (grad_input != nullptr && error == diopiSuccess) {
        error = contract(ctx, op, a.batch(), factor(view(grad_input), Side::kLeft), grad, transpose(b));
    }
    if (grad_weight != nullptr && error == diopiSuccess) {
        error = contract(ctx, op, a.batch(), factor(view(grad_weight), Side::kRight), transpose(grad), a);
    }
    return error;
}

}  // namespace

#include "kernels/entries/linear.inc"

}  // namespace diopi::cuda
