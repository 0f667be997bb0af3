/// Functions of one or two real numbers whose results are floating numbers. An operator is a functor F<C> over float
/// and double, as for `map`. Integers and bool compute in float64.
#pragma once

#include <algorithm>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

/// out = F of inputs of its shape.
template <template <class> class F, size_t kIns>
diopiError_t map_real(diopiContextHandle_t ctx, std::string_view op, const View& out,
                      const std::array<View, kIns>& ins) {
    bool is_narrow = out.dtype != Dtype::float64;
    for (const View& in : ins) {
        if (is_complex(in.dtype)) return unsupported(op, "input", in.dtype, "a real dtype");
        is_narrow = is_narrow && is_floating(in.dtype) && in.dtype != Dtype::float64;
    }
    if (!is_floating(out.dtype)) return unsupported(op, "the output", out.dtype, "a floating dtype");
    const auto run = [&]<class C>() { return map<C, kIns, F<C>, true>(ctx, op, out, ins, F<C>{}); };
    return is_narrow ? run.template operator()<float>() : run.template operator()<double>();
}

/// A forward function or one in place, which has out == input.
template <template <class> class F>
diopiError_t map_unary(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (!std::ranges::equal(y.shape, x.shape)) return wrong_shape(op, "out", y.shape, to_string(x.shape));
    return map_real<F>(ctx, op, y, std::array{x});
}

/// grad_input = F(grad_output, saved): saved is the forward input or output.
template <template <class> class F>
diopiError_t map_gradient(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                          diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t saved) {
    const View gx = view(grad_input), g = view(grad_output), x = view(saved);
    for (const auto& [v, argument] : {std::pair{&gx, "grad_input"}, {&g, "grad_output"}}) {
        if (!std::ranges::equal(v->shape, x.shape)) return wrong_shape(op, argument, v->shape, to_string(x.shape));
    }
    return map_real<F>(ctx, op, gx, std::array{g, x});
}

}  // namespace diopi::cuda
