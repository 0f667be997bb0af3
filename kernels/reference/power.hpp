/// Powers of numbers that are not negative, with a real exponent.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/reference/inexact.hpp"

namespace diopi::reference {

inline double power(double x, double p) { return std::pow(x, p); }
/// The exponent is rounded, too. Source of the function's error: OpenCL C, 16 ulp.
inline Inexact power(const Inexact& x, double p) {
    constexpr double kUnbounded = std::numeric_limits<double>::infinity();
    const double result = std::pow(x.value, p);
    if (p == 0 || !std::isfinite(result)) return result;
    // A sum of powers that are all below the smallest number is 0 with an error.
    if (x.value == 0) return {result, std::pow(x.error, p)};
    const double slope = x.error < x.value ? std::fabs(p) / (x.value - x.error) : kUnbounded;
    return Inexact::rounded(result, x.error > 0 ? slope * x.error * result : 0, 32 + std::fabs(p * std::log(x.value)));
}

}  // namespace diopi::reference
