/// The sign.
#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

template <class T>
struct Negate {
    using Selects = void;
    static uint16_t of_bits(uint16_t x) { return x ^ 0x8000; }
    T operator()(T x) const {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(0 - x);
        else
            return -x;
    }
};

diopiError_t negate(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                    diopiConstTensorHandle_t input) {
    const View y = view(out), x = view(input);
    if (const diopiError_t error = check_negation(op, y, x); error != diopiSuccess) return error;
    return in_result_dtype(ctx, op, y, x.dtype, [&](const View& to) {
        const Dtype compute = compute_dtype(x.dtype, {&to, 1}, {&x, 1});
        return with_wrapping_type(compute, [&]<class T>() {
            if constexpr (std::is_same_v<T, Bool>) {
                return unsupported(op, "input", x.dtype, "numbers");
            } else {
                Negate<T> f;
                return for_each_tile(ctx, op, {&to, 1}, {&x, 1}, unary<T>(compute, f));
            }
        });
    });
}

}  // namespace

#include "kernels/entries/elementwise_sign.inc"

}  // namespace diopi::cpu
