/// Convolution: forward = weight * columns, where columns is the unfolded input (conv_groups.hpp).
#include "kernels/reference/conv.hpp"

#include "kernels/entries/entries.hpp"
#include "kernels/reference/conv_groups.hpp"
#include "kernels/reference/operators.hpp"

namespace diopi::reference {

diopiError_t convolution(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                         diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return kernel([&] {
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        const Operand<double> b(bias, "bias?");
        Output<double> y(out, "out");
        const Geometry g = geometry_of(sides, x.shape(), w.shape(), {stride, padding, dilation, groups});
        require_shape("out", y.shape(), g.result_shape);
        if (b) require_shape("bias", b.shape(), w.shape().first(1));
        convolve(g, x.data(), w.data(), y.data());
        add_bias(b, g.out_area(), y);
        y.store();
    });
}

/// columns is the unfolded input: grad_input = fold(weight^T * g), grad_weight = sum over images of g * columns^T,
/// grad_bias = the sum of g over all dimensions but the channels.
diopiError_t convolution_backward(diopiContextHandle_t, std::string_view, size_t sides, diopiTensorHandle_t grad_input,
                                  diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
                                  diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t weight, diopiSize_t*, diopiSize_t stride,
                                  diopiSize_t padding, diopiSize_t dilation, int64_t groups) {
    return kernel([&] {
        using Gradient = Output<double>;
        const Operand<double> grad(grad_output, "grad_output");
        const Operand<double> x(input, "input");
        const Operand<double> w(weight, "weight");
        Gradient gx(grad_input, "grad_input?", Gradient::Start::kZero);
        Gradient gw(grad_weight, "grad_weight?", Gradient::Start::kZero);
        Gradient gb(grad_bias, "grad_bias?", Gradient::Start::kZero);
        const Geometry g = geometry_of(sides, x.shape(), w.shape(), {stride, padding, dilation, groups});
        require_shape("grad_output", grad.shape(), g.result_shape);
        if (gx) require_shape("grad_input", gx.shape(), x.shape());
        if (gw) require_shape("grad_weight", gw.shape(), w.shape());
        if (gb) require_shape("grad_bias", gb.shape(), w.shape().first(1));
        if (gw) add_weight_gradient(g, x.data(), grad.data(), gw.data());
        if (gx) add_input_gradient(g, w.data(), grad.data(), gx.data());
        sum_planes(grad, g.out_area(), gb);
        gx.store();
        gw.store();
        gb.store();
    });
}

#include "kernels/entries/conv.inc"

}  // namespace diopi::reference
