/// Formulas of two real numbers (kernels/cpu/unary-inl.hpp) on the operands of a call.
#pragma once

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/unary.hpp"

namespace diopi::cpu {

/// Runs F on operands whose result is floating.
template <class F>
diopiError_t run_real(diopiContextHandle_t ctx, std::string_view op, Operands x) {
    const bool wide_result = wide(x.result) == Dtype::float64;
    float single = 0;
    double number_of_other = 0;
    if (x.other_is_number) {
        number_of_other = number<double>(x.number);
        single = static_cast<float>(number_of_other);
        x.other.dtype = wide_result ? Dtype::float64 : Dtype::float32;
        x.other.data =
            wide_result ? reinterpret_cast<std::byte*>(&number_of_other) : reinterpret_cast<std::byte*>(&single);
    }
    const std::array ins = {x.input, x.other};
    return for_each_tile(ctx, op, {&x.out, 1}, ins, F::tiles().in(!wide_result));
}

}  // namespace diopi::cpu
