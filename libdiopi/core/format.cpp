#include "core/format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace diopi {

Dtype component_of(Dtype dtype) {
    if (dtype == Dtype::complex32) return Dtype::float16;
    if (dtype == Dtype::complex64) return Dtype::float32;
    return dtype == Dtype::complex128 ? Dtype::float64 : dtype;
}

Format format_of(Dtype dtype) {
    if (dtype == Dtype::float16) return {11, -14, 65504.0, 65520.0};
    if (dtype == Dtype::bfloat16) return {8, -126, 0x1.fep127, 0x1.ffp127};
    if (dtype == Dtype::tfloat32) return {11, -126, 0x1.ffcp127, 0x1.ffep127};
    if (dtype == Dtype::float32) return {24, -126, 0x1.fffffep127, 0x1.ffffffp127};
    return {53, -1022, std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity()};
}

double largest_below(double bound, const Format& format) {
    const double below = std::nextafter(bound, -HUGE_VAL);
    const int exponent = std::max(std::ilogb(below), format.min_exponent) - format.significand + 1;
    return std::clamp(std::ldexp(std::floor(std::ldexp(below, -exponent)), exponent), -format.largest, format.largest);
}

}  // namespace diopi
