/// sigmoid, silu, gelu and their gradients.
#include <string>

#include "kernels/cuda/element/unary.cuh"
#include "kernels/cuda/operators.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cuda {

namespace {

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kSqrtHalfRest = -4.833646656726457e-17;  // the root of 1/2 less kSqrtHalf
constexpr double kTwoBySqrtPi = 1.1283791670955126;
constexpr double kSqrtTwoByPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

// W: the type of the inner arithmetic of sigmoid, silu and the approximate gelu. It is double also for float, where the
// rounding of an argument, and of exp far below 0, would show. For half types it is float, which a GPU computes faster.

template <class W>
__device__ W sigmoid_of(W x) {
    if constexpr (std::is_same_v<W, double>) return x < -700 ? exp(x) : 1 / (1 + exp(-x));  // exp(-x) may be infinite
    const W e = exp(x < 0 ? x : -x);  // never infinite: bfloat16 has results down to 1e-40
    return (x < 0 ? e : W(1)) / (W(1) + e);
}

template <class C, class W = double>
struct Sigmoid {
    __device__ C operator()(C x) const { return static_cast<C>(sigmoid_of<W>(x)); }
    [[nodiscard]] Sigmoid<C, float> half_form() const { return {}; }
};
template <class C>
struct SigmoidBackward {
    __device__ C operator()(C g, C y) const { return g * ((C(1) - y) * y); }
};

/// x sigmoid(x).
template <class W>
__device__ W silu_of(W x, W argument) {
    if constexpr (std::is_same_v<W, double>) {
        if (argument >= -700) return x / (1 + exp(-argument));
        const double root = exp(argument / 2);  // of the sigmoid, which may be denormal and lack digits
        return x * root * root;
    }
    return x * sigmoid_of(argument);
}

template <class C, class W = double>
struct Silu {
    __device__ C operator()(C x) const {
        if constexpr (std::is_same_v<C, float>) {  // further below 0 the sigmoid may be denormal
            if (x > -80) return x * sigmoid_of(x);
        }
        return static_cast<C>(silu_of<W>(x, x));
    }
    [[nodiscard]] Silu<C, float> half_form() const { return {}; }
};
template <class C, class W = double>
struct SiluBackward {
    __device__ C operator()(C g, C x) const {
        const W s = sigmoid_of<W>(x);
        return static_cast<C>(g * (s * (1 + x * (1 - s))));
    }
    [[nodiscard]] SiluBackward<C, float> half_form() const { return {}; }
};

/// The normal distribution up to x; by erfc, because 1 + erf has no digits left where x is far below 0. kCorrects: also
/// the rounding of the argument, which the tail magnifies by the argument's square.
template <bool kCorrects, class C>
__device__ C normal_up_to(C x) {
    constexpr C kFactor = static_cast<C>(kSqrtHalf);
    constexpr C kRest = static_cast<C>(kSqrtHalf - kFactor + kSqrtHalfRest);
    const C argument = -kFactor * x, tail = erfc(argument);
    if constexpr (!kCorrects) return tail / 2;
    const C taken = fma(x, -kFactor, -argument) - x * kRest;
    const C slope = isfinite(x) ? -static_cast<C>(kTwoBySqrtPi) * exp(-argument * argument) * taken : 0;
    return (tail + slope) / 2;
}

/// x times the normal distribution up to x where the latter is denormal, with few digits, and the product magnifies
/// their error. The series of the distribution for large -x gives it.
__device__ double gelu_tail(double x) {
    const double square = x * x, square_rest = fma(x, x, -square), s = 1 / square;
    const double series = 1 - s * (1 - s * (3 - s * (15 - s * (105 - s * (945 - s * 10395)))));
    const double root = exp(square * -0.25);  // of the density, which is denormal itself
    return -(kSqrtTwoByPi / 2 * series * (1 - square_rest / 2) * root) * root;
}

template <class C, bool kIsHalf = false>
struct Gelu {
    __device__ C operator()(C x) const {
        if constexpr (std::is_same_v<C, double>) {
            if (x > -39.5 && x < -37.3) return gelu_tail(x);
        } else if constexpr (!kIsHalf) {  // from here on erfc may be denormal
            if (x < -12) return static_cast<C>(double{x} * normal_up_to<false, double>(x));
        }
        return x * normal_up_to<!kIsHalf>(x);
    }
    [[nodiscard]] Gelu<C, true> half_form() const { return {}; }
};
template <class C, bool kIsHalf = false>
struct GeluBackward {
    __device__ C operator()(C g, C x) const {
        const C density = static_cast<C>(kSqrtTwoByPi / 2) * exp(x * x * C(-0.5));
        return g * (normal_up_to<!kIsHalf>(x) + x * density);
    }
    [[nodiscard]] GeluBackward<C, true> half_form() const { return {}; }
};

/// x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3) the argument of tanh in the approximation, with all digits of a
/// double: corrects the roundings of 2u, which e^-2u magnifies by 2u far below 0.
__device__ double gelu_tanh(double x) {
    constexpr double kScale = 2 * kSqrtTwoByPi, kScaleRest = -9.96930880911092e-17, kCubicRest = 2.1960211427085595e-18;
    const double square = x * x, square_rest = fma(x, x, -square);
    const double bend = kCubic * square,
                 bend_rest = fma(kCubic, square, -bend) + kCubic * square_rest + kCubicRest * square;
    const double factor = 1 + bend, part = factor - 1;
    const double factor_rest = (1 - (factor - part)) + (bend - part) + bend_rest;
    const double scaled = kScale * x, scaled_rest = fma(kScale, x, -scaled) + kScaleRest * x;
    const double argument = scaled * factor;
    const double rest = fma(scaled, factor, -argument) + scaled * factor_rest + scaled_rest * factor;
    if (argument < -700 && argument > -760) {
        const double root = exp(argument / 2);  // e^-2u may be infinite where the result is a denormal
        return x * (1 + rest) * root * root;
    }
    const double power = exp(-argument);
    return x / (1 + (isfinite(power) && isfinite(rest) ? power - power * rest : power));
}

template <class C, class W = double>
struct GeluTanh {
    __device__ C operator()(C x) const {
        if constexpr (std::is_same_v<C, double>) return gelu_tanh(x);
        const W wide = x, u = static_cast<W>(kSqrtTwoByPi) * wide * (1 + static_cast<W>(kCubic) * (wide * wide));
        return static_cast<C>(silu_of<W>(wide, 2 * u));
    }
    [[nodiscard]] GeluTanh<C, float> half_form() const { return {}; }
};
/// s + 2 x s (1 - s) u', s = sigmoid(2 u).
template <class C, class W = double>
struct GeluTanhBackward {
    __device__ C operator()(C g, C x) const {
        const W wide = x, square = wide * wide;
        const W s = sigmoid_of<W>(static_cast<W>(2 * kSqrtTwoByPi) * wide * (1 + static_cast<W>(kCubic) * square));
        // Where the square is infinite in float, s (1 - s) is 0.
        const W slope = static_cast<W>(kSqrtTwoByPi) * (1 + static_cast<W>(3 * kCubic) * fmin(square, W(1e30)));
        return static_cast<C>(g * (s + 2 * wide * (s * (1 - s)) * slope));
    }
    [[nodiscard]] GeluTanhBackward<C, float> half_form() const { return {}; }
};

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

}  // namespace diopi::cuda
