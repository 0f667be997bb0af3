/// Tangents, inverse and hyperbolic functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise_transcendental.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"

#define FORMULAS(X) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Erfinv)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

struct StandardTangent {
    double operator()(double x) const { return std::tan(x); }
};

struct Tan {
    static double one(double x) { return std::tan(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const SineAndCosine<V> s = sine_and_cosine(x);
        const auto is_odd = SineAndCosine<V>::is_odd(s.quarters);
        const V y = choose(is_odd, hn::Neg(s.cosine), s.sine) / choose(is_odd, s.sine, s.cosine);
        return with_far(choose(hn::Eq(x, all<V>(0)), x, y), x, StandardTangent());
    }
};

/// asin(x) of x in [0, 1/2]; square is x^2.
HWY_INLINE Float arc_sine(Float x, Float square) {
    const Float p =
        polynomial(square, {0.166666597F, 0.0750052109F, 0.0445136353F, 0.0318360552F, 0.0143291885F, 0.0376731306F});
    return fma(x * square, p, x);
}

/// From 1/2 on by the sine of half the angle to pi / 2: pi / 2 - 2 asin(sqrt((1 - |x|) / 2)).
struct Asin {
    static double one(double x) { return std::asin(x); }
    static HWY_INLINE Float many(Float x) {
        const Float magnitude = absolute(x), half = fma(magnitude, spread(-0.5F), spread(0.5F));
        const Mask is_far = hn::Gt(magnitude, spread(0.5F));
        const Float angle = arc_sine(choose(is_far, sqrt(half), magnitude), choose(is_far, half, x * x));
        const Float far = fma(angle, spread(-2.0F), spread(-4.37113883e-8F)) + spread(1.57079637F);
        return with_sign_of(choose(is_far, far, angle), x);
    }
};

struct Acos {
    static double one(double x) { return std::acos(x); }
    static HWY_INLINE Float many(Float x) {
        const Float magnitude = absolute(x), half = fma(magnitude, spread(-0.5F), spread(0.5F));
        const Mask is_far = hn::Gt(magnitude, spread(0.5F));
        const Float angle = arc_sine(choose(is_far, sqrt(half), magnitude), choose(is_far, half, x * x));
        const Float twice = angle + angle;
        const Float far = choose(is_negative(x), (spread(-8.74227766e-8F) - twice) + spread(3.14159274F), twice);
        const Float near = (spread(-4.37113883e-8F) - with_sign_of(angle, x)) + spread(1.57079637F);
        return choose(is_far, far, near);
    }
};

/// atan(x) = offset + atan(t): t = x below tan(pi / 8), -1 / x above tan(3 pi / 8), (x - 1) / (x + 1) between.
struct Atan {
    static double one(double x) { return std::atan(x); }
    static HWY_INLINE Float many(Float x) {
        const Float magnitude = absolute(x), one = spread(1.0F);
        const Mask is_large = hn::Gt(magnitude, spread(2.41421356F));
        const Mask is_middle = hn::Gt(magnitude, spread(0.414213562F));
        const Float above = choose(is_large, hn::Neg(one), magnitude - one);
        const Float below = choose(is_large, magnitude, magnitude + one);
        const Float t = choose(is_middle, above / below, magnitude), z = t * t;
        const Float p = polynomial(z, {-0.333333135F, 0.199983552F, -0.142411664F, 0.105752416F, -0.0602881834F});
        const Float angle = fma(t * z, p, t);
        const Float high = choose(is_large, spread(1.57079637F), spread(0.785398185F));
        const Float low = choose(is_large, spread(-4.37113883e-8F), spread(-2.18556941e-8F));
        return with_sign_of(choose(is_middle, (angle + low) + high, angle), x);
    }
};

/// exp(|x|) / 2, which does not overflow where its sum with its inverse does not.
template <class V>
HWY_INLINE V half_exp(V x) {
    const Scaled<V> e = scaled_exp(within(absolute(x), 0, FormatOf<V>::kExpHigh));
    return (e.first * all<V>(0.5)) * e.second;
}

HWY_INLINE Float sinh_below_1(Float x) {
    const Float z = x * x;
    return fma(x * z, polynomial(z, {0.166666672F, 0.00833331142F, 0.000198426351F, 2.78392554e-06F}), x);
}
HWY_INLINE Double sinh_below_1(Double x) {
    const Double e = expm1(within(absolute(x), 0, 1));
    return with_sign_of(all<Double>(0.5) * (e + e / (e + all<Double>(1))), x);
}

struct Sinh {
    static double one(double x) { return std::sinh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const V h = half_exp(x), far = with_sign_of(h - all<V>(0.25) / h, x);
        const V y = choose(hn::Gt(absolute(x), all<V>(1)), far, sinh_below_1(x));
        return choose(is_number(x), y, x);
    }
};

struct Cosh {
    static double one(double x) { return std::cosh(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        const V h = half_exp(x);
        return choose(is_number(x), h + all<V>(0.25) / h, x);
    }
};

/// Two steps of Halley's method on erf(x) - y, or on erfc, which keeps the digits of 1 - y. The start is the series of
/// erfinv, or Winitzki's formula, off by less than 0.2%.
double inverse_of_erf(double y) {
    constexpr double kSlope = 1.1283791670955126, kA = 0.147;  // 2 / sqrt(pi)
    const double log_rest = std::log((1 - y) * (1 + y)), half = 2 / (M_PI * kA) + log_rest / 2;
    double x =
        y < 0.1 ? y * (0.886226925 + 0.232013667 * y * y) : std::sqrt(std::sqrt(half * half - log_rest / kA) - half);
    for (int step = 0; step < 2; ++step) {
        const double above = y < 0.5 ? std::erf(x) - y : (1 - y) - std::erfc(x);
        const double newton = above / (kSlope * std::exp(-x * x));
        x -= newton / (1 + x * newton);
    }
    return x;
}

/// x P(w), w = -log(1 - x^2). Method: Giles, "Approximating the erfinv function".
struct Erfinv {
    static double one(double x) {
        const double magnitude = std::fabs(x);
        if (!(magnitude < 1)) return magnitude == 1 ? x * HUGE_VAL : std::nan("");
        return std::copysign(inverse_of_erf(magnitude), x);
    }
    static HWY_INLINE Float many(Float x) {
        const Float one = spread(1.0F), w = hn::Neg(log((one - x) * (one + x)));
        const Mask is_far = hn::Ge(w, spread(5.0F));
        Float p =
            polynomial(w - spread(2.5F), {1.50140941F, 0.246640772F, -0.00417766161F, -0.00125378324F, 0.000218549132F,
                                          -4.36780329e-06F, -3.51128938e-06F, 3.40662154e-07F, 2.68221534e-08F});
        if (!hn::AllFalse(hn::DFromV<Float>(), is_far)) {
            const Float far =
                polynomial(sqrt(w) - spread(3.0F),
                           {2.83297682F, 1.00167513F, 0.00944568403F, -0.00763940997F, 0.00568317296F, -0.0035869882F,
                            0.00149585539F, -7.66181547e-05F, -0.000318722479F, 0.000128963293F});
            p = choose(is_far, far, p);
        }
        return choose(hn::Eq(absolute(x), one), x * spread(kInfinity), x * p);
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

}  // namespace

#include "kernels/entries/elementwise_transcendental.inc"

}  // namespace diopi::cpu
#endif
