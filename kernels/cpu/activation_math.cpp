/// sigmoid, silu, gelu and their gradients.
#include <cmath>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/unary.hpp"
#include "kernels/entries/entries.hpp"
#include "kernels/operands/activation.hpp"

namespace diopi::cpu {

namespace {

constexpr double kSqrtTwoByPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

__m256d sigmoid(__m256d x) { return spread(1.0) / (spread(1.0) + exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Sigmoid {
    static double one(double x) { return sigmoid(x); }
    static __m256d four(__m256d x) { return sigmoid(x); }
};
struct SigmoidBackward {
    static double one(double g, double y) { return g * ((1 - y) * y); }
    static __m256d four(__m256d g, __m256d y) { return g * ((spread(1.0) - y) * y); }
};

struct Silu {
    static double one(double x) { return x / (1 + std::exp(-x)); }
    static __m256d four(__m256d x) { return x / (spread(1.0) + exp(-x)); }
};
struct SiluBackward {
    static double one(double g, double x) {
        const double s = sigmoid(x);
        return g * s * (1 + x * (1 - s));
    }
    static __m256d four(__m256d g, __m256d x) {
        const __m256d s = sigmoid(x);
        return g * s * (spread(1.0) + x * (spread(1.0) - s));
    }
};

/// float64 computes in long double, because the tail magnifies the rounding of the argument by its square.
struct Gelu {
    static double one(double x) {
        const long double wide = x;
        return static_cast<double>(wide * (std::erfc(wide * -0.707106781186547524400844362104849039L) / 2));
    }
    static __m256d four(__m256d x) {
        return each(x, [](double lane) { return lane * (std::erfc(lane * -0.70710678118654752) / 2); });
    }
};
struct GeluBackward {
    static double one(double g, double x) {
        return g * (std::erfc(x * -0.70710678118654752) / 2 + x * (kSqrtTwoByPi / 2 * std::exp(x * x * -0.5)));
    }
};

/// x sigmoid(2 u), u the argument of tanh in the approximation.
struct GeluTanh {
    static double one(double x) {
        const long double wide = x;
        const long double u = wide * 0.797884560802865355879892119868763737L * (1 + 0.044715L * (wide * wide));
        return static_cast<double>(wide / (1 + std::exp(-2 * u)));
    }
    static __m256d four(__m256d x) {
        const __m256d stretched = fma(x * x, spread(kCubic), spread(1.0));
        return x / (spread(1.0) + exp(x * spread(-2 * kSqrtTwoByPi) * stretched));
    }
};
/// s + 2 x s (1 - s) u', s = sigmoid(2 u).
struct GeluTanhBackward {
    static double one(double g, double x) {
        const double s = sigmoid(x * (2 * kSqrtTwoByPi) * (1 + kCubic * (x * x)));
        return g * (s + 2 * x * (s * (1 - s)) * (kSqrtTwoByPi * (1 + 3 * kCubic * (x * x))));
    }
    static __m256d four(__m256d g, __m256d x) {
        const __m256d z = x * x, one = spread(1.0);
        const __m256d s = sigmoid(x * spread(2 * kSqrtTwoByPi) * fma(z, spread(kCubic), one));
        const __m256d slope = spread(kSqrtTwoByPi) * fma(z, spread(3 * kCubic), one);
        return g * fma((x + x) * (s * (one - s)), slope, s);
    }
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

}  // namespace diopi::cpu
