/// Functions of one or two real numbers whose results are floating numbers. An operator is a functor F<C> over float
/// and double, as for `map`. Integers and bool compute in float64.
#pragma once

#include "kernels/cuda/element/map.cuh"
#include "kernels/operands/elementwise.hpp"

namespace diopi::cuda {

/// out = F(inputs of its shape).
template <template <class> class F, size_t kIns>
diopiError_t map_real(diopiContextHandle_t ctx, std::string_view op, const View& out,
                      const std::array<View, kIns>& ins) {
    bool is_narrow = false;
    if (const diopiError_t error = read_real_function(op, out, ins, is_narrow); error != diopiSuccess) return error;
    const auto run = [&]<class C>() { return map<C, kIns, F<C>, true>(ctx, op, out, ins, F<C>{}); };
    return is_narrow ? run.template operator()<float>() : run.template operator()<double>();
}

/// A forward function or an in-place one, which has out == input.
template <template <class> class F>
diopiError_t map_unary(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_shape(op, "out", y, x.shape); error != diopiSuccess) return error;
    return map_real<F>(ctx, op, y, std::array{x});
}

/// grad_input = F(grad_output, saved): saved is the forward input or output.
template <template <class> class F>
diopiError_t map_gradient(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved) {
    const View gx = view(grad_input), g = view(grad_output), x = view(saved);
    if (const diopiError_t error = check_gradient(op, gx, g, x); error != diopiSuccess) return error;
    return map_real<F>(ctx, op, gx, std::array{g, x});
}

}  // namespace diopi::cuda
