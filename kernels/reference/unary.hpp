/// Formulas on each element of one tensor, in float64 for any dtype of the input. A formula is a constant lambda with
/// the name of its operator.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/reference/exponentials.hpp"
#include "kernels/reference/operand.hpp"
#include "kernels/reference/vector_math.hpp"

namespace diopi::reference {

/// out = kFormula(input); out has a floating dtype. Empty and 0-dim tensors need no special case.
template <auto kFormula>
diopiError_t map_unary(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    return kernel([&] {
        if (kind_of(view_of(out).dtype) != Kind::kFloating) refuse_dtype("out", view_of(out).dtype, "a floating dtype");
        const Operand<double> x(input, "input");
        Output<double> y(out, "out");
        require_shape("out", y.shape(), x.shape());
        if constexpr (requires { kFormula.in_vectors; }) {
            if (allows_vectors(*ctx)) {
                kFormula.in_vectors(x.data(), y.data(), x.numel());
                return y.store();
            }
        }
        for (int64_t i = 0; i < x.numel(); ++i) y[i] = kFormula(x[i]);
        y.store();
    });
}

/// Formulas of one operator, one for each compute type that it takes.
template <class... Formulas>
struct ByKind : Formulas... {
    using Formulas::operator()...;
};

/// out = f(input) in the compute type T; integers wrap in the dtype of the input.
template <class T, class F>
void map_kind(diopiTensorHandle_t out, diopiConstTensorHandle_t input, F f) {
    const Operand<T> x(input, "input");
    Output<std::invoke_result_t<F, T>> y(out, "out");
    require_shape("out", y.shape(), x.shape());
    for (int64_t i = 0; i < x.numel(); ++i) y[i] = f(x[i]);
    wrap(y, view_of(input).dtype);
    y.store();
}

/// out = kFormula(input) in the compute type of the input; refuses one that the formula does not take.
template <auto kFormula>
diopiError_t map_same(diopiContextHandle_t, std::string_view, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return kernel([&] {
        const Dtype dtype = view_of(input).dtype;
        in_kind(dtype, [&]<class T>(T) {
            if constexpr (std::is_invocable_v<decltype(kFormula), T>) {
                map_kind<T>(out, input, kFormula);
            } else {
                refuse_dtype("input", dtype, "a real dtype");
            }
        });
    });
}

/// out[i] = f(g[i], x[i], exp(f.exponent(x[i]))).
template <class T, class F>
void map_with_powers(const Operand<T>& g, const Operand<T>& x, WriteOnly<T>& out, const Exponentials& take_powers,
                     const F& f) {
    std::array<T, Exponentials::kBlock> power;
    for (int64_t first = 0; first < x.numel(); first += Exponentials::kBlock) {
        const int64_t n = std::min(x.numel() - first, Exponentials::kBlock);
        for (int64_t i = 0; i < n; ++i) power[static_cast<size_t>(i)] = f.exponent(x[first + i]);
        take_powers(power.data(), n);
        for (int64_t i = 0; i < n; ++i) {
            out[first + i] = f(T(g[first + i]), T(x[first + i]), power[static_cast<size_t>(i)]);
        }
    }
}

/// grad_input = f(grad_output, saved); `saved` is the forward function's input or output. A formula with an exponent
/// takes its power, too.
template <class F>
diopiError_t map_gradient(diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved, F f) {
    return inexact_kernel(ctx, [&]<class T>(T) {
        const Operand<T> g(grad_output, "grad_output");
        const Operand<T> x(saved, "the saved tensor");
        WriteOnly<T> gx(grad_input, "grad_input");
        require_shape("grad_output", g.shape(), x.shape());
        require_shape("grad_input", gx.shape(), x.shape());
        if constexpr (requires { f.exponent(T()); }) {
            map_with_powers<T>(g, x, gx, Exponentials(*ctx), f);
        } else {
            for (int64_t i = 0; i < x.numel(); ++i) gx[i] = f(g[i], x[i]);
        }
        gx.store();
    });
}
template <auto kFormula>
diopiError_t map_gradient(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved) {
    return map_gradient(ctx, grad_input, grad_output, saved, kFormula);
}

}  // namespace diopi::reference
