#include "core/half.hpp"

#include <cmath>

namespace diopi {

double round_to_precision(double x, int significand, int min_exponent, double largest) {
    if (!std::isfinite(x) || x == 0.0) return x;
    int exponent = 0;
    std::frexp(x, &exponent);  // |x| = m * 2^exponent, m in [0.5, 1)
    const int unit = std::max(exponent, min_exponent + 1) - significand;
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
    if (std::fabs(rounded) > largest) return std::copysign(HUGE_VAL, x);
    return rounded;
}

Half to_half(double x) {
    const uint16_t sign = std::signbit(x) ? 0x8000u : 0u;
    if (std::isnan(x)) return {static_cast<uint16_t>(sign | 0x7e00u)};
    const double rounded = std::fabs(round_to_precision(x, 11, -14, 65504.0));
    if (std::isinf(rounded)) return {static_cast<uint16_t>(sign | 0x7c00u)};
    // Exact in float32; scaling by 2^-112 moves the exponent to where binary16 has it, denormals included.
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(rounded) * 0x1p-112f);
    return {static_cast<uint16_t>(sign | (bits >> 13))};
}

Half to_half(float x) { return to_half(static_cast<double>(x)); }

Bfloat16 to_bfloat16(double x) {
    if (std::isnan(x)) return {0x7fc0u};
    const double rounded = round_to_precision(x, 8, -126, 0x1.fep127);
    return {static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(rounded)) >> 16)};
}

}  // namespace diopi
