/// Tangents, inverse and hyperbolic functions: the C library in float64. Integers and bool give floating results.
#include <cmath>

#include "kernels/entries/entries.hpp"
#include "kernels/reference/operators.hpp"
#include "kernels/reference/unary.hpp"

namespace diopi::reference {

namespace {

/// Newton's method for erf(x) = wanted, or on log(erfc), which is nearly a parabola, for erfc(x) = wanted. A step is
/// the last one if it moves x by at most this share of it: the error that it leaves is about the square of this.
template <class T>
T newton(T x, T wanted, bool is_near, T share) {
    constexpr T kSlope = 1.1283791670955125738961589031215452L;  // 2 / sqrt(pi)
    for (int step = 0; step < 60; ++step) {
        const T value = is_near ? std::erf(x) : std::erfc(x), slope = kSlope * std::exp(-x * x);
        const T moved = is_near ? (wanted - value) / slope : std::log(value / wanted) * value / slope;
        x += moved;
        if (std::fabs(moved) <= share * x) break;
    }
    return x;
}

/// The x with erf(x) = y, y from 0 to 1: first in float64, then in long double. erfc keeps the digits of 1 - y, which
/// is exact from 1/2 on.
double inverse_of_erf(double y) {
    if (y == 0) return y;
    const bool is_near = y < 0.5;
    const double wanted = is_near ? y : 1 - y;
    const double start = is_near ? wanted : std::sqrt(-std::log(wanted));
    const double near = newton<double>(start, wanted, is_near, 1e-7);
    return static_cast<double>(newton<long double>(near, wanted, is_near, 1e-10L));
}

/// sin(x) / cos(x); NaN at infinity.
constexpr InVectors<std::tan, in_vectors::tan> Tan;
/// NaN outside [-1, 1].
constexpr InVectors<std::asin, in_vectors::asin> Asin;
/// NaN outside [-1, 1].
constexpr InVectors<std::acos, in_vectors::acos> Acos;
constexpr InVectors<std::atan, in_vectors::atan> Atan;
/// (e^x - e^-x) / 2.
constexpr InVectors<std::sinh, in_vectors::sinh> Sinh;
/// (e^x + e^-x) / 2.
constexpr InVectors<std::cosh, in_vectors::cosh> Cosh;
/// Infinite at -1 and 1, NaN beyond.
constexpr auto Erfinv = [](double y) {
    const double magnitude = std::fabs(y);
    if (!(magnitude < 1)) return magnitude == 1 ? std::copysign(HUGE_VAL, y) : std::nan("");
    return std::copysign(inverse_of_erf(magnitude), y);
};

}  // namespace

#include "kernels/entries/elementwise_transcendental.inc"

}  // namespace diopi::reference
