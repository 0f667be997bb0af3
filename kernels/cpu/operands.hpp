/// The two operands of an element-wise call, two tensors or a tensor and a number, and the dtype of their result.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/cpu/tile.hpp"

namespace diopi::cpu {

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

/// The number in a compute type; integers wrap, a floating number for integers truncates.
template <class T>
T number(const diopiScalar_t& scalar) {
    const bool floating = is_floating(from_c(scalar.stype));
    if constexpr (std::is_same_v<T, Bool>) {
        return static_cast<Bool>(floating ? scalar.fval != 0 : scalar.ival != 0);
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(floating ? static_cast<int64_t>(scalar.fval) : scalar.ival);
    } else if constexpr (kIsComplex<T>) {
        return T(number<typename T::value_type>(scalar));
    } else {
        return floating ? static_cast<T>(scalar.fval) : static_cast<T>(scalar.ival);
    }
}

/// The operands of a call: two tensors, or a tensor and a number that lies in `bytes` in the compute type.
struct Operands {
    View out, input, other;
    bool other_is_number = false;
    diopiScalar_t other_number{};
    Dtype result = Dtype::float32;      ///< by the rules of promotion
    alignas(16) std::byte bytes[16]{};  ///< filled once the compute type is known
};

/// 3 complex, 2 floating, 1 integer, 0 bool.
[[nodiscard]] int category(Dtype dtype);
/// Source: torch.result_type. A 0-dim tensor counts only if its category is higher.
[[nodiscard]] Dtype result_dtype(const View& a, const View& b);

[[nodiscard]] Operands with_tensor(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t other);
[[nodiscard]] Operands with_number(diopiConstTensorHandle_t out, diopiConstTensorHandle_t input,
                                   const diopiScalar_t* other);
/// Refuses an out of another shape than the broadcast one, or of a dtype that cannot hold the result (torch.can_cast).
[[nodiscard]] diopiError_t check_operands(std::string_view op, const Operands& x);

/// Computes in dtype `compute`, whose C++ type is T.
template <class T, class F>
diopiError_t run(diopiContextHandle_t ctx, std::string_view op, Operands& x, Dtype compute, F& f) {
    if (x.other_is_number) {
        const T value = number<T>(x.other_number);
        std::memcpy(x.bytes, &value, sizeof value);
        x.other.data = x.bytes;
        x.other.dtype = compute;
    }
    const std::array ins = {x.input, x.other};
    return for_each_tile(ctx, op, {&x.out, 1}, ins, binary<T>(compute, f));
}

/// Runs make<T>() in the compute type of the operands that promotion and out's dtype ask for.
template <class Make>
diopiError_t run_wrapping(diopiContextHandle_t ctx, std::string_view op, Operands& x, Make&& make) {
    const std::array ins = {x.input, x.other};
    const View out = x.out;
    const bool via_bool = x.result == Dtype::boolean && out.dtype != Dtype::boolean;
    if (via_bool) {  // no wider type computes logically
        const diopiError_t error = require(ctx, out.shape, Dtype::boolean, x.out);
        if (error != diopiSuccess) return error;
    }
    const Dtype compute = compute_dtype(x.result, {&x.out, 1}, ins);
    const diopiError_t error = with_wrapping_type(compute, [&]<class T>() {
        auto f = make.template operator()<T>();
        return run<T>(ctx, op, x, compute, f);
    });
    if (error == diopiSuccess && via_bool) copy(x.out, out);
    return error;
}

}  // namespace diopi::cpu
