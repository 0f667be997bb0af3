#include "check/judge.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/half.hpp"

namespace diopi {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The oracle of class C is a function of the C library, itself within one ulp in float64.
constexpr double kOracleUlp = 1;

double ulps_of_class_b(double max_ulp, Dtype dtype) {
    // A bound in ulp of float32 means little for half: computed wider and rounded once, at most one ulp remains.
    return is_half(dtype) ? std::min(max_ulp, 1.0) : max_ulp;
}

double ulps_of_class_c(const Bound& bound, Dtype dtype) {
    const bool stated = bound.tolerance.instead == Tolerance::Instead::kUlp;
    const double max_ulp = stated ? bound.tolerance.max_ulp : bound.max_ulp;
    if (dtype == Dtype::float64) return max_ulp + kOracleUlp;
    return is_half(dtype) && !stated ? 1 : max_ulp;
}

void bound_sums(Rule& rule, const Bound& bound, Dtype dtype) {
    const double k = static_cast<double>(std::max<int64_t>(bound.accumulation_length, 1));
    const double roundoff = dtype == Dtype::float64 ? 0x1p-53 : bound.accumulator_roundoff;
    rule.has_sums = true;
    rule.warn_ulps = 0.5;
    rule.warn_sums = 4 * std::sqrt(k) * roundoff + bound.extra_roundoff;
    // A worst-case bound of a tenth of S or more would accept nearly everything.
    const bool worst_case_is_loose = 2 * k * roundoff >= 0.1;
    rule.ulps = worst_case_is_loose ? rule.warn_ulps : 1;
    rule.sums = worst_case_is_loose ? rule.warn_sums : 2 * k * roundoff + bound.extra_roundoff;
}

/// A share of the allowed error that stays finite, so that every report can print it.
double share_of(double error, double allowed) {
    if (error == 0) return 0;
    return allowed > 0 ? std::min(error / allowed, kLargest) : kLargest;
}

}  // namespace

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
    return {53, -1022, kLargest, kInfinity};
}

double ulp_of(double exact, const Format& format) {
    // The factor moves only a power of two to the binade below.
    const auto bits = std::bit_cast<uint64_t>(std::fabs(exact) * (1 - 0x1p-53));
    const int exponent = std::max(static_cast<int>(bits >> 52) - 1023, format.min_exponent) - format.significand + 1;
    if (exponent < -1022) return std::ldexp(1.0, exponent);
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

Rule make_rule(const Bound& bound, Dtype dtype) {
    Rule rule;
    rule.format = format_of(dtype);
    switch (bound.accuracy) {
        case Accuracy::A:
            rule.bitwise = true;
            rule.ulps = 0.5 - 0x1p-54;
            break;
        case Accuracy::B:
            rule.ulps = ulps_of_class_b(bound.max_ulp, dtype);
            break;
        case Accuracy::C:
            rule.ulps = ulps_of_class_c(bound, dtype);
            break;
        case Accuracy::D:
            bound_sums(rule, bound, dtype);
            break;
        case Accuracy::E:
            rule.atol = bound.tolerance.atol;
            rule.rtol = bound.tolerance.rtol;
            rule.ulps = is_half(dtype) ? 0.5 : 0;
            break;
        case Accuracy::F:
            break;
    }
    return rule;
}

Judgement judge(double actual, double exact, double sum, const Rule& rule) {
    Judgement result;
    const double magnitude = std::fabs(exact);
    if (std::isnan(exact) || magnitude >= rule.format.overflow || !std::isfinite(actual)) {
        result.finite = false;
        const bool overflows = magnitude >= rule.format.overflow;
        const bool may_be_nan = std::isnan(exact) || (overflows && std::isnan(sum));
        result.ok = std::isnan(actual) ? may_be_nan : overflows && actual == std::copysign(kInfinity, exact);
        return result;
    }
    if (actual == exact) return result;
    const double ulp = ulp_of(exact, rule.format);
    const double s = std::isfinite(sum) ? sum : magnitude;
    const double error = std::fabs(actual - exact);
    double allowed = rule.atol + rule.rtol * magnitude + rule.ulps * ulp;
    if (rule.has_sums) {
        allowed += rule.sums * s;
        result.warned = error > rule.warn_ulps * ulp + rule.warn_sums * s;
    }
    result.ok = error <= allowed;
    if (rule.bitwise && error == 0.5 * ulp) {
        result.ok =
            actual == round_to_precision(exact, rule.format.significand, rule.format.min_exponent, rule.format.largest);
        allowed = result.ok ? error : allowed;
    }
    result.abs_error = std::min(error, kLargest);
    result.rel_error = magnitude > 0 ? std::min(error / magnitude, kLargest) : 0;
    result.ulp_error = std::min(error / ulp, kLargest);
    result.share = share_of(error, allowed);
    return result;
}

}  // namespace diopi
