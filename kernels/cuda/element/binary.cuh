/// Functions of two operands: two tensors, or a tensor and a number.
#pragma once

#include <utility>

#include "kernels/cuda/element/map.cuh"
#include "kernels/operands/elementwise.hpp"

namespace diopi::cuda {

/// Calls compute(to), where `to` is out, or, if integers wrap differently in out's dtype, a temporary of dtype `result`
/// that is then converted to out.
template <class F>
diopiError_t in_result_dtype(diopiContextHandle_t ctx, std::string_view op, const View& out, Dtype result,
                             F&& compute) {
    if (!shows_wrapping(result, out.dtype)) return compute(out);
    View to;
    if (const diopiError_t error = require(ctx, out.shape, result, to); error != diopiSuccess) return error;
    const diopiError_t error = compute(std::as_const(to));
    return error == diopiSuccess ? copy_into(ctx, op, to, out) : error;
}

/// out = f(input, other), computed in C; out may be complex for a real result. Integers wrap in the result's dtype
/// before they are converted to out's.
template <class C, class F>
diopiError_t map_operands(diopiContextHandle_t ctx, std::string_view op, const Operands& x, F f) {
    const bool is_widened = (is_complex(x.out.dtype) && !kIsComplex<C>) || shows_wrapping(x.result, x.out.dtype);
    View out = x.out;
    if (is_widened) {
        if (const diopiError_t error = require(ctx, out.shape, x.result, out); error != diopiSuccess) return error;
    }
    const diopiError_t error = map<C, 2>(ctx, op, out, {x.input, x.other}, f, {C{}, compute_number<C>(x.number)});
    return is_widened && error == diopiSuccess ? copy_into(ctx, op, out, x.out) : error;
}

}  // namespace diopi::cuda
