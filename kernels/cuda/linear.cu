/// The linear layer: cuBLASLt's matrix product, which adds the bias; the bias's gradient by a sum of our own.
#include <algorithm>

#include "kernels/cuda/matmul.hpp"
#include "kernels/cuda/operators.hpp"
#include "kernels/cuda/product_copies.hpp"
#include "kernels/cuda/product_sums.hpp"

namespace diopi::cuda {

namespace {

/// input (..., in) times weight (out, in), transposed.
struct LinearOperands {
    Operand input, weight;

    [[nodiscard]] int64_t out() const { return weight.columns(); }
    [[nodiscard]] ShapeView batch() const { return input.batch(); }
};

diopiError_t read_operands(std::string_view op, const View& input, const View& weight, const View& out,
                           LinearOperands& x) {
    if (!is_computable(input.dtype)) return unsupported(op, "input", input.dtype, "a floating dtype");
    if (input.shape.empty()) return wrong_shape(op, "input", input.shape, "(..., in)");
    if (weight.shape.size() != 2 || weight.shape[1] != input.shape.back()) {
        return wrong_shape(op, "weight", weight.shape, "(out, " + std::to_string(input.shape.back()) + ")");
    }
    Shape wanted(input.shape.begin(), input.shape.end());
    wanted.back() = weight.shape[0];
    if (!std::ranges::equal(out.shape, wanted)) return wrong_shape(op, "out", out.shape, to_string(wanted));
    x = {factor(input, Side::kLeft), transpose(factor(weight, Side::kRight))};
    return diopiSuccess;
}

/// A bias of one number for each column; others broadcast to out.
bool is_row(const View& bias, int64_t columns) {
    return bias.numel == columns && !bias.shape.empty() && bias.shape.back() == columns;
}

/// Without the dimensions of size 1 before the columns: those could be more than out has.
View without_lead(View row) {
    row.shape = row.shape.last(1);
    row.strides = row.strides.last(1);
    return row;
}

}  // namespace

diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    constexpr std::string_view kOp = "diopiLinear";
    const View y = view(out);
    LinearOperands x;
    if (const auto error = read_operands(kOp, view(input), view(weight), y, x); error != diopiSuccess) return error;
    Addend addend;
    View added;
    if (bias != nullptr) {
        added = view(bias);
        const auto broadcast = broadcast_shapes(added.shape, y.shape);
        if (is_row(added, x.out())) {
            added = without_lead(added);
        } else if (!broadcast || !std::ranges::equal(*broadcast, y.shape)) {
            return wrong_shape(kOp, "bias", added.shape, to_string(Shape{x.out()}));
        }
        addend.view = &added;
    }
    return contract(ctx, kOp, x.batch(), product_of(y, x.input, x.weight), x.input, x.weight, addend);
}

diopiError_t diopiLinearBackward(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                                 diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                 diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t weight) {
    constexpr std::string_view kOp = "diopiLinearBackward";
    const View g = view(grad_output);
    LinearOperands x;
    diopiError_t error = read_operands(kOp, view(input), view(weight), g, x);
    if (error != diopiSuccess) return error;
    const Operand grad = product_of(g, x.input, x.weight);
    if (grad_bias != nullptr) {
        const View gb = view(grad_bias);
        const bool is_one_row = is_row(gb, x.out());
        if (!is_one_row && gb.shape.size() > g.shape.size()) {
            return wrong_shape(kOp, "grad_bias", gb.shape, "one that broadcasts to grad_output");
        }
        error = sum_to(ctx, kOp, is_one_row ? without_lead(gb) : gb, g);
    }
    if (grad_input != nullptr && error == diopiSuccess) {
        const View gx = view(grad_input);
        error = check_shape(kOp, "grad_input", gx, x.input.view.shape);
        if (error == diopiSuccess) {
            error = contract(ctx, kOp, x.batch(), factor(gx, Side::kLeft), grad, transpose(x.weight));
        }
    }
    if (grad_weight != nullptr && error == diopiSuccess) {
        const View gw = view(grad_weight);
        error = check_shape(kOp, "grad_weight", gw, x.weight.view.shape);
        if (error == diopiSuccess) {
            error = contract(ctx, kOp, x.batch(), factor(gw, Side::kRight), transpose(grad), x.input);
        }
    }
    return error;
}

}  // namespace diopi::cuda
