/// Functions of one number whose result has its dtype, or that of its parts: signs, whole numbers, parts of complex
/// numbers. F<T> is the formula on numbers of type T.
#pragma once

#include <type_traits>

#include "kernels/cpu/operands.hpp"

namespace diopi::cpu {

/// Whether F has a formula for numbers of type T: F<T> says so for complex ones by a member type TakesComplex.
template <class T, class Formula>
constexpr bool kTakes = !kIsComplex<T> || requires {
    typename Formula::TakesComplex;
};

/// out = F(input), which PyTorch computes in the dtype of input. Refuses complex numbers that F does not take.
template <template <class> class F>
diopiError_t map_same(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    return in_result_dtype(ctx, op, y, x.dtype, [&](const View& to) {
        const Dtype compute = compute_dtype(x.dtype, {&to, 1}, {&x, 1});
        return with_type(compute, [&]<class T>() {
            if constexpr (kTakes<T, F<T>>) {
                F<T> f;
                return for_each_tile(ctx, op, {&to, 1}, {&x, 1}, unary<T>(compute, f));
            } else {
                return unsupported(op, "input", x.dtype, "a real dtype");
            }
        });
    });
}

/// out = F(input): a real number of a complex one.
template <template <class> class F>
diopiError_t map_parts(diopiContextHandle_t ctx, std::string_view op, const View& out, const View& input) {
    if (const diopiError_t error = check_shape(op, "out", out, input.shape); error != diopiSuccess) return error;
    const auto in_type = [&]<class R>(Dtype compute, Dtype stored) {
        F<std::complex<R>> f;
        return for_each_tile(ctx, op, {&out, 1}, {&input, 1}, map_to<1, std::complex<R>, R>(compute, stored, f));
    };
    if (input.dtype == Dtype::complex64) return in_type.template operator()<float>(Dtype::complex64, Dtype::float32);
    return in_type.template operator()<double>(Dtype::complex128, Dtype::float64);
}

}  // namespace diopi::cpu
