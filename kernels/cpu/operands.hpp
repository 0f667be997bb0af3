/// Functions of two operands (two tensors, or a tensor and a number) on tiles.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/cpu/tile.hpp"
#include "kernels/operands/elementwise.hpp"

namespace diopi::cpu {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// The number in a compute type; integers wrap, a floating number for integers truncates.
template <class T>
T number(const diopiScalar_t& scalar) {
    if constexpr (std::is_same_v<T, Bool>)
        return static_cast<Bool>(operands::number<bool>(scalar));
    else if constexpr (kIsComplex<T>)
        return T(operands::number<typename T::value_type>(scalar));
    else
        return operands::number<T>(scalar);
}

/// Computes in dtype `compute`, whose C++ type is T.
template <class T, class F>
diopiError_t run(diopiContextHandle_t ctx, std::string_view op, const Operands& x, Dtype compute, const F& f) {
    T value{};
    std::array ins = {x.input, x.other};
    if (x.other_is_number) {
        value = number<T>(x.number);
        ins[1] = element(&value, compute);
    }
    return for_each_tile(ctx, op, {&x.out, 1}, ins, binary<T>(compute, f));
}

/// Calls compute(to), where `to` is out, or, if integers wrap differently in out's dtype, a temporary of dtype `result`
/// that is then converted to out.
template <class F>
diopiError_t in_result_dtype(diopiContextHandle_t ctx, std::string_view op, const View& out, Dtype result,
                             F&& compute) {
    if (!shows_wrapping(result, out.dtype)) return compute(out);
    if (const diopiError_t error = check_views(op, out, {}); error != diopiSuccess) return error;
    View to;
    if (const diopiError_t error = require(ctx, out.shape, result, to); error != diopiSuccess) return error;
    const diopiError_t error = compute(std::as_const(to));
    if (error == diopiSuccess) copy(to, out);
    return error;
}
/// The same, with `to` as the out of the operands.
template <class F>
diopiError_t in_result_dtype(diopiContextHandle_t ctx, std::string_view op, const Operands& x, F&& compute) {
    return in_result_dtype(ctx, op, x.out, x.result, [&](const View& to) {
        Operands y = x;
        y.out = to;
        return compute(std::as_const(y));
    });
}

/// Runs make<T>() in the compute type that promotion and out's dtype require.
template <class Make>
diopiError_t run_wrapping(diopiContextHandle_t ctx, std::string_view op, const Operands& operands, Make&& make) {
    return in_result_dtype(ctx, op, operands, [&](const Operands& x) {
        const std::array ins = {x.input, x.other};
        const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
        return with_wrapping_type(compute, [&]<class T>() {
            auto f = make.template operator()<T>();
            return run<T>(ctx, op, x, compute, f);
        });
    });
}

/// Runs f<T>() with int64, or with uint64 if that is the result's dtype.
template <class F>
diopiError_t with_integers(const Operands& x, F&& f) {
    const std::array ins = {x.input, x.other};
    if (compute_dtype(x.result, {&x.out, 1}, ins) == Dtype::uint64) {
        return f.template operator()<uint64_t>(Dtype::uint64);
    }
    return f.template operator()<int64_t>(Dtype::int64);
}

/// Converts operands to a half type, in which they may round; any wider type holds what the loops compute with.
inline diopiError_t round_to_half(diopiContextHandle_t ctx, Operands& x) {
    if (!is_half(x.result)) return diopiSuccess;
    if (x.other_is_number) x.number = as_element(x.number, x.result);
    for (View* operand : {&x.input, &x.other}) {
        if (operand->dtype == x.result || operand->data == nullptr) continue;
        const diopiError_t error = contiguous_as(ctx, *operand, x.result, *operand);
        if (error != diopiSuccess) return error;
    }
    return diopiSuccess;
}

}  // namespace diopi::cpu
