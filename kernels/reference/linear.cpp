/// The linear layer.
#include "kernels/entries/entries.hpp"
#include "kernels/reference/blas.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

namespace {

/// Sizes of a linear layer: rows is the product of all dimensions of input but the last.
struct Layer {
    int64_t rows, in, out;
    Shape output_shape;
};

Layer layer_of(ShapeView input, ShapeView weight) {
    if (input.empty()) refuse("input has shape (), wanted (..., in)");
    if (weight.size() != 2 || weight[1] != input.back()) {
        refuse("weight has shape " + to_string(weight) + ", wanted (out, " + std::to_string(input.back()) + ")");
    }
    Shape output(input.begin(), input.end());
    output.back() = weight[0];
    return {numel(input.first(input.size() - 1)), weight[1], weight[0], std::move(output)};
}

/// Adds each element of `wide` to the element of `y` that broadcasts to it.
void sum_to_shape(const Operand<double>& wide, Output<double>& y, std::string_view argument) {
    const Shape dense = contiguous_strides(wide.shape());
    const Shape strides = broadcast_strides(argument, y.shape(), wide.shape());
    const Rows<2> rows(wide.shape(), {ShapeView(dense), ShapeView(strides)});
    rows.for_each([&](const Rows<2>::Offsets& at) {
        for (int64_t i = 0; i < rows.length(); ++i) y[at[1] + i * rows.step()[1]] += wide[at[0] + i];
    });
}

/// out = input * weight^T + bias, bias broadcast to out. No rows or no outputs: out is empty; no inputs: out is bias.
diopiError_t linear(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out");
        const Layer layer = layer_of(x.shape(), w.shape());
        require_shape("out", y.shape(), layer.output_shape);
        if (b) {
            const Shape dense = contiguous_strides(y.shape());
            const Shape strides = broadcast_strides("bias", b.shape(), y.shape());
            const Rows<2> rows(y.shape(), {ShapeView(dense), ShapeView(strides)});
            rows.for_each([&](const Rows<2>::Offsets& at) {
                for (int64_t i = 0; i < rows.length(); ++i) y[at[0] + i] = b[at[1] + i * rows.step()[1]];
            });
        }
        multiply(layer.rows, layer.out, layer.in, {x.data(), layer.in}, {w.data(), layer.in, true}, y.data(), layer.out,
                 static_cast<bool>(b));
        y.store();
    });
}

/// grad_input = g * weight, grad_weight = g^T * input, grad_bias = g summed over the dimensions that bias was broadcast
/// along.
diopiError_t linear_backward(diopiContextHandle_t, std::string_view, diopiTensorHandle_t grad_input,
                             diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                             diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t weight) {
    return kernel([&] {
        const Operand<double> g(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        Output<double> gx(grad_input, "grad_input?");
        Output<double> gw(grad_weight, "grad_weight?");
        Output<double> gb(grad_bias, "grad_bias?", Output<double>::Start::kZero);
        const Layer layer = layer_of(x.shape(), w.shape());
        require_shape("grad_output", g.shape(), layer.output_shape);
        const Matrix grad{g.data(), layer.out};
        const Matrix grad_transposed{g.data(), layer.out, true};
        if (gx) {
            require_shape("grad_input", gx.shape(), x.shape());
            multiply(layer.rows, layer.in, layer.out, grad, {w.data(), layer.in}, gx.data(), layer.in, false);
        }
        if (gw) {
            require_shape("grad_weight", gw.shape(), w.shape());
            multiply(layer.out, layer.in, layer.rows, grad_transposed, {x.data(), layer.in}, gw.data(), layer.in,
                     false);
        }
        if (gb) sum_to_shape(g, gb, "grad_bias");
        gx.store();
        gw.store();
        gb.store();
    });
}

}  // namespace

#include "kernels/entries/linear.inc"

}  // namespace diopi::reference
