/// Remainders with the sign of the divisor.
#include <atomic>
#include <type_traits>

#include "kernels/cpu/operands.hpp"
#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/remainder.hpp"
#include "kernels/entries/entries.hpp"

namespace diopi::cpu {

namespace {

/// The remainder of a / b; of b / a where the operands have changed places.
template <class T>
struct FlooredRemainder {
    bool reversed;
    T operator()(T a, T b) const { return reversed ? of(b, a) : of(a, b); }
    static T of(T a, T b) {
        const T rest = truncated_remainder(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
};

/// A divisor of 0 gives 0 and is recorded.
template <class T>
struct IntegerRemainder {
    bool reversed;
    std::atomic<bool>* by_zero;
    T operator()(T a, T b) const { return reversed ? of(b, a) : of(a, b); }
    [[nodiscard]] T of(T a, T b) const {
        if (b == 0) {
            *by_zero = true;
            return 0;
        }
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
        const T rest = a % b;
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
};

/// A half type rounds operands of other dtypes.
diopiError_t remainder(diopiContextHandle_t ctx, std::string_view op, Operands x, bool reversed) {
    diopiError_t error = read_remainder(op, x);
    if (error == diopiSuccess) error = round_to_half(ctx, x);
    if (error != diopiSuccess) return error;
    if (wide(x.result) == Dtype::float64) {
        const FlooredRemainder<double> f{reversed};
        return run<double>(ctx, op, x, Dtype::float64, f);
    }
    if (is_floating(x.result)) {
        const FlooredRemainder<float> f{reversed};
        return run<float>(ctx, op, x, Dtype::float32, f);
    }
    std::atomic<bool> by_zero = false;
    error = with_integers(x, [&]<class T>(Dtype compute) {
        const IntegerRemainder<T> f{reversed, &by_zero};
        return run<T>(ctx, op, x, compute, f);
    });
    if (error != diopiSuccess || !by_zero) return error;
    return fail(diopiErrorOccurred, std::string(op) + ": ZeroDivisionError: an integer was divided by 0");
}

diopiError_t remainder(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input, const Other& other) {
    return remainder(ctx, op, operands_of(out, input, other), false);
}

diopiError_t remainder_of_number(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                                 const diopiScalar_t* input, diopiConstTensorHandle_t other) {
    return remainder(ctx, op, with_number(out, other, input), true);
}

}  // namespace

#include "kernels/entries/elementwise_remainder.inc"

}  // namespace diopi::cpu
