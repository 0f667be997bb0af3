/// Transposed convolution, by the groups of the convolution whose input gradient it is (conv_groups.hpp).
#include "kernels/reference/conv_transpose.hpp"

#include "kernels/entries/entries.hpp"
#include "kernels/reference/conv_groups.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

/// out = fold(weight^T * input) + bias.
diopiError_t conv_transpose(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
                            diopiSize_t output_padding, int64_t groups, diopiSize_t dilation) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out", Output<double>::Start::kZero);
        const ConvArguments arguments{stride, padding, dilation, groups};
        const Geometry g = transposed_geometry_of(sides, x.shape(), w.shape(), arguments, output_padding);
        require_shape("out", y.shape(), g.result_shape);
        if (b) require_shape("bias", b.shape(), Shape{g.in_channels * groups});
        add_input_gradient(g, w.data(), x.data(), y.data());
        add_bias(b, g.in_area(), y);
        y.store();
    });
}

/// columns is the unfolded grad_output: grad_input = weight * columns, grad_weight = sum over images of input *
/// columns^T, grad_bias = the sum of grad_output over all dims but the channels.
diopiError_t conv_transpose_backward(diopiContextHandle_t, std::string_view, size_t sides,
                                     diopiTensorHandle_t grad_input, diopiTensorHandle_t grad_weight,
                                     diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_output,
                                     diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiSize_t*,
                                     diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                                     diopiSize_t output_padding, int64_t groups) {
    return kernel([&] {
        using Gradient = Output<double>;
        const Operand<double> grad(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        Gradient gx(grad_input, "grad_input?", Gradient::Start::kZero);
        Gradient gw(grad_weight, "grad_weight?", Gradient::Start::kZero);
        Gradient gb(grad_bias, "grad_bias?", Gradient::Start::kZero);
        const ConvArguments arguments{stride, padding, dilation, groups};
        const Geometry g = transposed_geometry_of(sides, x.shape(), w.shape(), arguments, output_padding);
        require_shape("grad_output", grad.shape(), g.result_shape);
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        if (gw) require_shape("grad_weight", gw.shape(), w.shape());
        if (gb) require_shape("grad_bias", gb.shape(), Shape{g.in_channels * groups});
        if (gw) add_weight_gradient(g, grad.data(), x.data(), gw.data());
        if (gx) convolve(g, grad.data(), w.data(), gx.data());
        sum_planes(grad, g.in_area(), gb);
        gx.store();
        gw.store();
        gb.store();
    });
}

#include "kernels/entries/conv_transpose.inc"

}  // namespace diopi::reference
