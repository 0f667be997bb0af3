/// Remainders with the sign of the divisor.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_remainder.cpp"
#include <hwy/foreach_target.h>

#include <atomic>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/real_operands.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"

#define FORMULAS(X) X(FlooredRemainder) X(RemainderOfNumber)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

struct StandardRemainder {
    double operator()(double x, double y) const { return std::fmod(x, y); }
};

/// The remainder of x / y with the sign of x. The rounded quotient's whole part is the exact one's, or the next, so
/// that the difference is exact, or one y beyond. The C library computes quotients of more bits, and infinite operands.
template <class V>
HWY_INLINE V truncated_remainder(V x, V y) {
    const hn::DFromV<V> d;
    const V quotient = hn::Trunc(x / y);
    V rest = hn::NegMulAdd(quotient, y, x);
    const auto is_beyond = hn::Lt(rest * with_sign_of(all<V>(1), x), all<V>(0));
    rest = with_sign_of(choose(is_beyond, rest + with_sign_of(y, x), rest), x);
    constexpr int kBits = FormatOf<V>::kFraction;
    const auto is_small = hn::Lt(absolute(quotient), all<V>(std::ldexp(1.0, kBits)));
    const auto is_plain = hn::And(is_small, hn::Lt(absolute(y), all<V>(HUGE_VAL)));
    if (HWY_LIKELY(hn::AllTrue(d, is_plain))) return rest;
    return choose(is_plain, rest, each(StandardRemainder(), x, y));
}

struct FlooredRemainder {
    static double one(double x, double y) {
        const double rest = std::fmod(x, y);
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    }
    template <class V>
    static HWY_INLINE V many(V x, V y) {
        const V rest = truncated_remainder(x, y);
        const auto differs = hn::Lt(with_sign_of(all<V>(1), rest) * with_sign_of(all<V>(1), y), all<V>(0));
        return choose(hn::And(differs, hn::Ne(rest, all<V>(0))), rest + y, rest);
    }
};

/// The operands change places.
struct RemainderOfNumber {
    static double one(double y, double x) { return FlooredRemainder::one(x, y); }
    template <class V>
    static HWY_INLINE V many(V y, V x) {
        return FlooredRemainder::many(x, y);
    }
};

}  // namespace

FORMULAS(DIOPI_TILES)

}  // namespace diopi::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace diopi::cpu {

namespace {

FORMULAS(DIOPI_FORMULA)

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

/// The remainder of input / other; of other / input where they have changed places.
diopiError_t remainder(diopiContextHandle_t ctx, std::string_view op, Operands x, bool reversed) {
    diopiError_t error = read_remainder(op, x);
    if (error == diopiSuccess) error = round_to_half(ctx, x);
    if (error != diopiSuccess) return error;
    if (is_floating(x.result)) return (reversed ? run_real<RemainderOfNumber> : run_real<FlooredRemainder>)(ctx, op, x);
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
#endif
