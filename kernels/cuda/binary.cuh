/// Functions of two operands: two tensors, or a tensor and a number.
#pragma once

#include "kernels/cuda/elementwise.cuh"
#include "kernels/operands/promotion.hpp"

namespace diopi::cuda {

/// out = f(input, other), computed in C; a real result in a complex out, too.
template <class C, class F>
diopiError_t map_operands(diopiContextHandle_t ctx, std::string_view op, const Operands& x, F f) {
    const bool is_widened = is_complex(x.out.dtype) && !kIsComplex<C>;
    View out = x.out;
    if (is_widened) {
        if (const diopiError_t error = require(ctx, out.shape, x.result, out); error != diopiSuccess) return error;
    }
    const diopiError_t error = map<C, 2>(ctx, op, out, {x.input, x.other}, f, {C{}, compute_number<C>(x.number)});
    return is_widened && error == diopiSuccess ? copy_into(ctx, op, out, x.out) : error;
}

}  // namespace diopi::cuda
