/// sigmoid, silu, gelu and their gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation_math.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary-inl.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

#define FORMULAS(X) \
    X(Sigmoid) X(SigmoidBackward) X(Silu) X(SiluBackward) X(Gelu) X(GeluBackward) X(GeluTanh) X(GeluTanhBackward)

HWY_BEFORE_NAMESPACE();
namespace diopi::cpu::HWY_NAMESPACE {

namespace {

constexpr double kSqrtTwoByPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

/// exp(-x) overflows before the result is 0.
double sigmoid(double x) {
    const double small = std::exp(-std::fabs(x));
    return (x < 0 ? small : 1) / (1 + small);
}

/// Where x Phi(x) and its approximation are below all float32 numbers.
constexpr float kGeluEnd = -15, kGeluTanhEnd = -12;
/// Up to this |x| the integral of the normal density from |x| on is a normal number.
constexpr float kNormalTail = 13;

/// The logistic function: `small` is exp(-|x|), `share` is 1 / (1 + small).
template <class V>
struct Logistic {
    Scaled<V> small;
    V share;
};
template <class V>
HWY_INLINE Logistic<V> logistic_of(const Scaled<V>& small) {
    return {small, all<V>(1) / (small.value() + all<V>(1))};
}
template <class V>
HWY_INLINE Logistic<V> logistic(V x) {
    return logistic_of(scaled_exp(hn::Neg(within(absolute(x), 0, -FormatOf<V>::kExpLow))));
}

/// sigmoid(x), s being logistic(x).
template <class V>
HWY_INLINE V sigmoid_of(V x, const Logistic<V>& s) {
    const V y = choose(is_negative(x), s.share * s.small.first * s.small.second, s.share);
    return choose(is_number(x), y, x);
}
/// sigmoid(x) of any x, NaN included.
template <class V>
HWY_NOINLINE V far_sigmoid(V x) {
    return sigmoid_of(x, logistic(x));
}
/// factor sigmoid(x) with all digits, s being logistic(x); factor times 0 for x below `end`.
template <class V>
HWY_INLINE V times_sigmoid(V factor, V x, const Logistic<V>& s, hn::TFromV<V> end) {
    const V share = factor * s.share;
    const V y = choose(is_negative(x), share * s.small.first * s.small.second, share);
    return choose(hn::Lt(x, all<V>(end)), factor * all<V>(0), choose(is_number(x), y, x));
}

template <class V>
HWY_NOINLINE V far_silu(V x) {
    return times_sigmoid(x, x, logistic(x), FormatOf<V>::kExpLow);
}
struct Sigmoid {
    static double one(double x) { return sigmoid(x); }
    template <class V>
    static HWY_INLINE V many(V x) {
        return near_or_far(has_normal_exp(x), x, all<V>(1) / (exp_normal(hn::Neg(x)) + all<V>(1)), far_sigmoid<V>);
    }
};
struct SigmoidBackward {
    static double one(double g, double y) { return g * ((1 - y) * y); }
    template <class V>
    static HWY_INLINE V many(V g, V y) {
        return g * ((all<V>(1) - y) * y);
    }
};

struct Silu {
    static double one(double x) {
        if (x >= -700) return x / (1 + std::exp(-x));
        return x * std::exp(x / 2) * std::exp(x / 2);  // exp(-x) overflows before the product is 0
    }
    template <class V>
    static HWY_INLINE V many(V x) {
        return near_or_far(has_normal_exp(x), x, x / (exp_normal(hn::Neg(x)) + all<V>(1)), far_silu<V>);
    }
};
struct SiluBackward {
    static double one(double g, double x) {
        const double s = sigmoid(x);
        return g * s * (1 + x * (1 - s));
    }
    template <class V>
    static HWY_INLINE V many(V g, V x) {
        const V s = Sigmoid::many(x);
        return g * s * hn::MulAdd(x, all<V>(1) - s, all<V>(1));
    }
};

/// The integral of the normal density from |x| on: product of a smooth function and exp(-x^2 / 2).
struct Tail {
    Float smooth;
    Scaled<Float> bell;
    [[nodiscard]] HWY_INLINE Float value() const { return smooth * bell.first * bell.second; }
};
/// exp(x^2 / 2) times that integral, x in [0, 15].
HWY_INLINE Float smooth_tail(Float x) { return scaled_erfc(x * spread(0.707106781F)) * spread(0.5F); }
HWY_INLINE Tail tail_of(Float x) {
    const Float inside = within(absolute(x), 0.0F, -kGeluEnd);
    return {smooth_tail(inside), scaled_bell(inside)};
}

/// float64 computes in long double, because the tail magnifies the rounding of the argument by its square.
struct Gelu {
    static double one(double x) {
        const long double wide = x;
        return static_cast<double>(wide * (std::erfc(wide * -0.707106781186547524400844362104849039L) / 2));
    }
    /// The function of x below -kNormalTail, and of NaN.
    static HWY_NOINLINE Float far_below(Float x) {
        const Tail tail = tail_of(x);
        const Float below = x * tail.smooth * tail.bell.first * tail.bell.second;
        return choose(hn::Lt(x, spread(kGeluEnd)), x * spread(0.0F), below);
    }
    static HWY_INLINE Float many(Float x) {
        const Float inside = hn::Min(absolute(x), spread(kNormalTail));
        const Float y = hn::Max(x, spread(0.0F)) - times_normal_tail(inside);
        return near_or_far(hn::Ge(x, spread(-kNormalTail)), x, y, far_below);
    }
};
struct GeluBackward {
    static double one(double g, double x) {
        return g * (std::erfc(x * -0.70710678118654752) / 2 + x * (kSqrtTwoByPi / 2 * std::exp(x * x * -0.5)));
    }
    /// The derivative at x, of which the integral of the normal density from |x| on and exp(-x^2 / 2) are given.
    static HWY_INLINE Float slope(Float x, Float tail, Float bell) {
        const Float steep = x * (bell * spread(static_cast<float>(kSqrtTwoByPi / 2)));
        return choose(is_negative(x), tail, spread(1.0F) - tail) + steep;
    }
    /// The derivative at any x, NaN included.
    static HWY_NOINLINE Float far(Float x) {
        const Tail tail = tail_of(x);
        return slope(x, tail.value(), tail.bell.value());
    }
    static HWY_INLINE Float many(Float g, Float x) {
        const Float magnitude = absolute(x), inside = hn::Min(magnitude, spread(kNormalTail));
        const Float bell = normal_bell(inside), near = slope(x, smooth_tail(inside) * bell, bell);
        return g * near_or_far(hn::Le(magnitude, spread(kNormalTail)), x, near, far);
    }
};

/// 2 u with u the argument of tanh in the approximation, as the sum of two numbers.
struct Stretched {
    Float whole, rest;
};
HWY_INLINE Stretched stretched(Float x) {
    constexpr double kFactor = 2 * kSqrtTwoByPi;
    constexpr auto kCubicHigh = static_cast<float>(kCubic), kFactorHigh = static_cast<float>(kFactor);
    constexpr auto kCubicLow = static_cast<float>(kCubic - kCubicHigh),
                   kFactorLow = static_cast<float>(kFactor - kFactorHigh);
    const Float one = spread(1.0F);
    const Float z = x * x, z_rest = hn::MulSub(x, x, z);
    const Float cubic = z * spread(kCubicHigh);
    const Float cubic_rest =
        fma(z, spread(kCubicLow), fma(z_rest, spread(kCubicHigh), hn::MulSub(z, spread(kCubicHigh), cubic)));
    const Float sum = one + cubic, larger = hn::Max(one, cubic), smaller = hn::Min(one, cubic);
    const Float sum_rest = (smaller - (sum - larger)) + cubic_rest;
    const Float scaled = x * spread(kFactorHigh);
    const Float scaled_rest = fma(x, spread(kFactorLow), hn::MulSub(x, spread(kFactorHigh), scaled));
    const Float whole = scaled * sum;
    return {whole, fma(scaled, sum_rest, fma(scaled_rest, sum, hn::MulSub(scaled, sum, whole)))};
}

/// logistic(2 u)
HWY_INLINE Logistic<Float> logistic_of_stretched(Float x) {
    const Stretched u = stretched(within(absolute(x), 0.0F, -kGeluTanhEnd));
    const Scaled<Float> small = scaled_exp(hn::Neg(u.whole));
    return logistic_of(Scaled<Float>{hn::NegMulAdd(small.first, u.rest, small.first), small.second});
}

/// x sigmoid(2 u)
struct GeluTanh {
    static double one(double x) {
        const long double wide = x;
        const long double u = wide * 0.797884560802865355879892119868763737L * (1 + 0.044715L * (wide * wide));
        return static_cast<double>(wide / (1 + std::exp(-2 * u)));
    }
    static HWY_INLINE Float many(Float x) { return times_sigmoid(x, x, logistic_of_stretched(x), kGeluTanhEnd); }
};
/// s + 2 x s (1 - s) u', s = sigmoid(2 u).
struct GeluTanhBackward {
    static double one(double g, double x) {
        const double s = sigmoid(x * (2 * kSqrtTwoByPi) * (1 + kCubic * (x * x)));
        return g * (s + 2 * x * (s * (1 - s)) * (kSqrtTwoByPi * (1 + 3 * kCubic * (x * x))));
    }
    static HWY_INLINE Float many(Float g, Float x) {
        const Logistic<Float> s = logistic_of_stretched(x);
        const Float inside = with_sign_of(within(absolute(x), 0.0F, -kGeluTanhEnd), x);
        const Float slope = fma(inside * inside, spread(static_cast<float>(3 * kCubic)), spread(1.0F));
        const Float steep = s.share * s.share * s.small.first * (inside * spread(static_cast<float>(2 * kSqrtTwoByPi)));
        return g * (fma(steep * slope, s.small.second, sigmoid_of(x, s)) + (x - x));  // NaN of an infinity
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

diopiError_t gelu(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, const char* approximate) {
    return run_gelu_form<map_unary<Gelu>, map_unary<GeluTanh>>(ctx, op, approximate, out, input);
}

diopiError_t gelu_backward(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                           const char* approximate) {
    return run_gelu_form<map_gradient<GeluBackward>, map_gradient<GeluTanhBackward>>(ctx, op, approximate, grad_input,
                                                                                     grad_output, input);
}

}  // namespace

#include "kernels/entries/activation_math.inc"

}  // namespace diopi::cpu
#endif
