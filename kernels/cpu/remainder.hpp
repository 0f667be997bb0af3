/// Remainders of floating numbers.
#pragma once

#include <cmath>

namespace diopi::cpu {

/// The remainder of a / b with the sign of a. Exact in double as long as the quotient has few bits.
inline float truncated_remainder(float a, float b) {
    constexpr double kExact = 0x1p28;
    const double quotient = std::trunc(double{a} / double{b});
    if (!(std::fabs(quotient) < kExact) || std::isinf(b)) return std::fmod(a, b);
    return std::copysign(static_cast<float>(std::fma(-quotient, double{b}, double{a})), a);
}
inline double truncated_remainder(double a, double b) { return std::fmod(a, b); }

}  // namespace diopi::cpu
