/// sigmoid, silu, gelu and their gradients.
#include <cmath>
#include <string_view>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kSqrtTwoByPi = 0.79788456080286536;
constexpr double kCubic = 0.044715;

/// Below it the exponential overflows in float64, where a result is still a denormal number.
constexpr double kExpLow = -700;

double sigmoid(double x) {
    if (x >= kExpLow) return 1.0 / (1.0 + std::exp(-x));
    return static_cast<double>(1.0L / (1.0L + std::exp(-static_cast<long double>(x))));
}

void sigmoids(const double* x, double* y, int64_t n) {
    map_blocks<in_vectors::exp>(
        x, y, n, [](double a) { return -a; }, [](double, double power) { return 1.0 / (1.0 + power); });
}

/// 1 / (1 + e^-x).
constexpr InVectors<sigmoid, sigmoids> Sigmoid;
/// g y (1 - y).
constexpr auto SigmoidBackward = [](auto g, auto y) { return g * y * (1.0 - y); };

double silu(double x) {
    if (x >= kExpLow) return x / (1.0 + std::exp(-x));
    const long double wide = x;
    return static_cast<double>(wide / (1.0L + std::exp(-wide)));
}
void silus(const double* x, double* y, int64_t n) {
    map_blocks<in_vectors::exp>(
        x, y, n, [](double a) { return -a; }, [](double a, double power) { return a / (1.0 + power); });
}

/// x / (1 + e^-x); NaN at -inf.
constexpr InVectors<silu, silus> Silu;
/// g (s + x s (1 - s)), s = sigmoid(x).
constexpr struct {
    template <class T>
    [[nodiscard]] T exponent(const T& x) const {
        return x > T(0) ? -x : x;
    }
    template <class T>
    T operator()(const T& g, const T& x, const T& power) const {
        const T s = (x > T(0) ? T(1) : power) / (1.0 + power);
        return g * (s + x * s * (1.0 - s));
    }
} SiluBackward;

/// x Phi(x), Phi the normal distribution. NaN at -inf. Below 0 Phi is a tail that keeps its digits only as erfc, and
/// magnifies the rounding of the argument by its square: that is long double.
double gelu_exact(double x) {
    if (x > -0.5) return 0.5 * x * (1.0 + std::erf(x * kSqrtHalf));
    const long double wide = x;
    return static_cast<double>(0.5L * wide * std::erfc(-wide * 0.707106781186547524400844362104849039L));
}
void gelus_exact(const double* x, double* y, int64_t n) {
    map_blocks<in_vectors::erfc>(
        x, y, n, [](double a) { return -a * kSqrtHalf; }, [](double a, double tail) { return 0.5 * a * tail; });
}
constexpr InVectors<gelu_exact, gelus_exact> GeluExact;
constexpr auto gelu_slope = []<class T>(T g, T x) {
    using std::erfc, std::exp;
    const T density = exp(-0.5 * x * x) * kSqrtTwoByPi * 0.5;
    return g * (0.5 * erfc(-x * kSqrtHalf) + x * density);
};

/// x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3); (1 + tanh u) / 2 = 1 / (1 + e^-2u).
double gelu_tanh(double x) {
    const long double wide = x;
    const long double u = 0.797884560802865355879892119868763737L * (wide + 0.044715L * wide * wide * wide);
    return static_cast<double>(wide / (1.0L + std::exp(-2.0L * u)));
}
void gelus_tanh(const double* x, double* y, int64_t n) {
    map_blocks<in_vectors::exp>(
        x, y, n, [](double a) { return -2.0 * kSqrtTwoByPi * (a + kCubic * a * a * a); },
        [](double a, double power) { return a / (1.0 + power); });
}
constexpr InVectors<gelu_tanh, gelus_tanh> GeluTanh;
constexpr auto gelu_tanh_slope = []<class T>(T g, T x) {
    using std::tanh;
    const T t = tanh(kSqrtTwoByPi * (x + kCubic * x * x * x));
    const T slope = kSqrtTwoByPi * (1.0 + 3.0 * kCubic * x * x);
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope);
};

/// Whether the word asks for gelu's approximation. Refuses other words.
bool approximates(const char* word) {
    const std::string_view approximate = word == nullptr ? "none" : word;
    if (approximate != "none" && approximate != "tanh") {
        refuse("approximate is '" + std::string(approximate) + "', wanted 'none' or 'tanh'");
    }
    return approximate == "tanh";
}

/// Source: torch.nn.functional.gelu.
diopiError_t gelu(diopiContextHandle_t ctx, std::string_view op, diopiTensorHandle_t out,
                  diopiConstTensorHandle_t input, const char* approximate) {
    return kernel([&] {
        const auto map = approximates(approximate) ? map_unary<GeluTanh> : map_unary<GeluExact>;
        const diopiError_t error = map(ctx, op, out, input);
        if (error != diopiSuccess) throw Refusal{error, last_error()};
    });
}
diopiError_t gelu_backward(diopiContextHandle_t ctx, std::string_view, diopiTensorHandle_t grad_input,
                           diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                           const char* approximate) {
    return kernel([&] {
        const diopiError_t error = approximates(approximate)
                                       ? map_gradient(ctx, grad_input, grad_output, input, gelu_tanh_slope)
                                       : map_gradient(ctx, grad_input, grad_output, input, gelu_slope);
        if (error != diopiSuccess) throw Refusal{error, last_error()};
    });
}

}  // namespace

#include "kernels/entries/activation_math.inc"

}  // namespace diopi::reference
