/// Formulas on each element of one tensor, in float64 for any dtype of the input. A formula is a constant lambda with
/// the name of its operator.
#pragma once

#include "kernels/reference/operand.hpp"

namespace diopi::reference {

/// out = kFormula(input); out has a floating dtype. Empty and 0-dim tensors need no special case.
template <auto kFormula>
diopiError_t map_unary(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    return kernel([&] {
        if (kind_of(view_of(out).dtype) != Kind::kFloating) refuse_dtype("out", view_of(out).dtype, "a floating dtype");
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        for (int64_t i = 0; i < x.numel(); ++i) y[i] = kFormula(x[i]);
        y.store();
    });
}

/// grad_input = f(grad_output, saved); `saved` is the forward function's input or output.
template <class F>
diopiError_t map_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved, F f) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> x(saved, "the saved tensor");
        Output<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), x.shape());
        require_shape("grad_input", gx.shape(), x.shape());
        for (int64_t i = 0; i < x.numel(); ++i) gx[i] = f(g[i], x[i]);
        gx.store();
    });
}
template <auto kFormula>
diopiError_t map_gradient(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved) {
    return map_gradient(ctx, grad_input, grad_output, saved, kFormula);
}

}  // namespace diopi::reference
