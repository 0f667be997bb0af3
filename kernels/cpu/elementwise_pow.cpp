/// Powers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_pow.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/real_operands.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"

#define FORMULAS(X) X(Power) X(PowerOfNumber)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

struct Power {
    static double one(double x, double y) { return std::pow(x, y); }
    static HWY_INLINE Float many(Float x, Float y) { return pow(x, y); }
};

/// A number to the power of a tensor: the operands change places.
struct PowerOfNumber {
    static double one(double y, double x) { return std::pow(x, y); }
    static HWY_INLINE Float many(Float y, Float x) { return pow(x, y); }
};

}  // namespace

FORMULAS(DIOPI_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

FORMULAS(DIOPI_FORMULA)

/// Computed by squaring, modulo 2^64; a result between -1 and 1, of a negative exponent, is cut off to 0.
template <class T>
T integer_power(T base, T exponent) {
    if (std::is_signed_v<T> && exponent < T(0)) {
        if (base == T(1)) return 1;
        const bool odd = (static_cast<uint64_t>(exponent) & 1) != 0;
        return base == static_cast<T>(-1) ? static_cast<T>(odd ? -1 : 1) : T(0);
    }
    uint64_t result = 1, factor = static_cast<uint64_t>(base);
    for (auto rest = static_cast<uint64_t>(exponent); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) result *= factor;
        factor *= factor;
    }
    return static_cast<T>(result);
}

template <class T>
struct IntegerPower {
    bool reversed;
    T operator()(T a, T b) const { return reversed ? integer_power(b, a) : integer_power(a, b); }
};

/// input to the power of other; `reversed`: the number in the place of other is the base.
diopiError_t power(diopiContextHandle_t ctx, std::string_view op, Operands operands, bool reversed) {
    if (const diopiError_t error = read_power(op, operands, reversed); error != diopiSuccess) return error;
    if (is_floating(operands.result)) {
        return (reversed ? run_real<PowerOfNumber> : run_real<Power>)(ctx, op, operands);
    }
    return in_result_dtype(ctx, op, operands, [&](const Operands& x) {
        return with_integers(x, [&]<class T>(Dtype compute) {
            IntegerPower<T> f{reversed};
            return run<T>(ctx, op, x, compute, f);
        });
    });
}

diopiError_t power(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                   diopiConstTensorHandle_t input, const Other& exponent) {
    return power(ctx, op, operands_of(out, input, exponent), false);
}

diopiError_t power_of_number(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                             const diopiScalar_t* base, diopiConstTensorHandle_t exponent) {
    return power(ctx, op, with_number(out, exponent, base), true);
}

}  // namespace

#include "kernels/entries/elementwise_pow.inc"

}  // namespace diopi::cpu
#endif
