/// Tangents, inverse and hyperbolic functions: the C library in float64. Integers and bool give floating results.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// The x with erf(x) = y, y from 0 to 1, in long double: bisection of the float64 numbers' range, then Newton's method
/// on log(erfc), which is nearly a parabola. erfc keeps the digits of 1 - y, which is exact from 1/2 on.
double inverse_of_erf(double y) {
    if (y == 0) return y;
    const bool is_near = y < 0.5;
    const long double wanted = is_near ? static_cast<long double>(y) : 1.0L - static_cast<long double>(y);
    const auto f = [&](long double x) { return is_near ? std::erf(x) : std::erfc(x); };
    constexpr long double kSlope = 1.1283791670955125738961589031215452L;  // 2 / sqrt(pi)
    long double x = is_near ? wanted / kSlope : std::sqrt(-std::log(wanted));
    for (int step = 0; step < 60; ++step) {
        const long double slope = kSlope * std::exp(-x * x);
        const long double moved = is_near ? (wanted - f(x)) / slope : std::log(f(x) / wanted) * f(x) / slope;
        x += moved;
        if (std::fabs(moved) <= 1e-19L * x) break;
    }
    return static_cast<double>(x);
}

/// sin(x) / cos(x); NaN at infinity.
constexpr auto Tan = [](double x) { return std::tan(x); };
/// NaN outside [-1, 1].
constexpr auto Asin = [](double x) { return std::asin(x); };
/// NaN outside [-1, 1].
constexpr auto Acos = [](double x) { return std::acos(x); };
constexpr auto Atan = [](double x) { return std::atan(x); };
/// (e^x - e^-x) / 2.
constexpr auto Sinh = [](double x) { return std::sinh(x); };
/// (e^x + e^-x) / 2.
constexpr auto Cosh = [](double x) { return std::cosh(x); };
/// Infinite at -1 and 1, NaN beyond.
constexpr auto Erfinv = [](double y) {
    const double magnitude = std::fabs(y);
    if (!(magnitude < 1)) return magnitude == 1 ? std::copysign(HUGE_VAL, y) : std::nan("");
    return std::copysign(inverse_of_erf(magnitude), y);
};

}  // namespace

#include "kernels/entries/elementwise_transcendental.inc"

}  // namespace diopi::reference
