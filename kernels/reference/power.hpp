/// Powers of numbers that are not negative, with a real exponent.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

/// A square root is rounded once, and takes a tenth of a power's time.
inline double power(double x, double p) {
    if (p == 0.5) return std::sqrt(x);
    return p == -0.5 ? 1 / std::sqrt(x) : std::pow(x, p);
}
/// The exponent is rounded, too. Source of the function's error: OpenCL C, 16 ulp.
inline Inexact power(const Inexact& x, double p) {
    constexpr double kUnbounded = std::numeric_limits<double>::infinity();
    const double result = power(x.value, p);
    if (p == 0 || !std::isfinite(result)) return result;
    // A sum of powers that are all below the smallest number is 0 with an error.
    if (x.value == 0) return {result, power(x.error, p)};
    const double slope = x.error < x.value ? std::fabs(p) / (x.value - x.error) : kUnbounded;
    return Inexact::rounded(result, x.error > 0 ? slope * x.error * result : 0, 32 + std::fabs(p * std::log(x.value)));
}

}  // namespace diopi::reference
