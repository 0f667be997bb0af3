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
    // Each product may fall below the smallest number of the working dtype.
    rule.atol = k * (dtype == Dtype::float64 ? std::numeric_limits<double>::denorm_min() : 0x1p-149);
    rule.warn_ulps = 0.5;
    rule.warn_sums = 4 * std::sqrt(k) * roundoff + bound.extra_roundoff;
    // A worst-case bound of a tenth of S or more would accept nearly everything.
    const bool worst_case_is_loose = 2 * k * roundoff >= 0.1;
    rule.ulps = worst_case_is_loose ? rule.warn_ulps : 1;
    rule.sums = worst_case_is_loose ? rule.warn_sums : 2 * k * roundoff + bound.extra_roundoff;
}

/// An error bound is at least one rounding of the result. Frameworks keep one intermediate result of half types in the
/// same type: the powers of softmax, a product with a gradient. Its rounding is at most one ulp of the result.
void bound_errors(Rule& rule, const Bound& bound, Dtype dtype) {
    rule.ulps = is_half(dtype) ? 1.5 : 1;
    rule.rtol = kErrorFactor * bound.accumulator_roundoff;
    rule.sums = kErrorFactor;
    rule.has_sums = true;
    rule.may_be_unbounded = true;
    rule.warn_ulps = kInfinity;
}

bool is_float64(const Rule& rule) { return rule.format.significand == format_of(Dtype::float64).significand; }

/// Whether a sum overflows in the working dtype. Half types are summed in float32.
bool overflows_on_the_way(double sum, const Rule& rule) {
    return rule.has_sums && sum >= (is_float64(rule) ? kInfinity : 0x1p128);
}

/// Whether terms of both signs may each overflow in the working dtype, so that their sum is NaN: the result overflows,
/// and its terms are larger, or one term is infinite and the others overflow, or a plain computation of it overflows on
/// the way.
bool terms_overflow(double magnitude, double sum, const Rule& rule) {
    if (rule.may_be_unbounded) return std::isinf(sum);
    return overflows_on_the_way(sum, rule) && std::isfinite(sum) && (sum > magnitude || std::isinf(magnitude));
}

/// Whether a finite sum may be infinite or NaN because the sum of its terms of one sign overflows, or of both. Those of
/// the result's sign reach (S + |e|) / 2, the others (S - |e|) / 2. In float64 the oracle's own terms overflow, which
/// hides the sign of the sum.
bool is_lost_on_the_way(double actual, double exact, double sum, const Rule& rule) {
    if (std::isfinite(actual)) return false;
    if (!std::isfinite(exact)) return is_float64(rule) && overflows_on_the_way(sum, rule);
    const double own = sum / 2 + std::fabs(exact) / 2, other = sum / 2 - std::fabs(exact) / 2;
    const bool has_own_sign = std::isinf(actual) && std::signbit(actual) == std::signbit(exact);
    return overflows_on_the_way(has_own_sign ? own : other, rule);
}

/// The largest error that a result may have before it is rounded to the output's dtype.
double error_of_sum(double magnitude, double sum, const Rule& rule) {
    if (!rule.has_sums || !std::isfinite(sum) || !std::isfinite(magnitude)) return 0;
    return rule.rtol * magnitude + rule.sums * sum;
}

/// Whether infinity, or a finite number in the place of a result that overflows, is what a number within that error of
/// the exact one is rounded to.
bool is_beside_overflow(double actual, double exact, double sum, const Rule& rule) {
    const double magnitude = std::fabs(exact), error = error_of_sum(magnitude, sum, rule);
    if (std::isinf(actual)) {
        return std::signbit(actual) == std::signbit(exact) && magnitude + error >= rule.format.overflow;
    }
    const double least = magnitude - error;
    const double found = std::signbit(actual) == std::signbit(exact) ? std::fabs(actual) : -std::fabs(actual);
    return least < rule.format.overflow && found + ulp_of(found, rule.format) / 2 >= least;
}

/// A share of the allowed error that stays finite, so that every report can print it.
double share_of(double error, double allowed) {
    if (error == 0) return 0;
    return allowed > 0 ? std::min(error / allowed, kLargest) : kLargest;
}

}  // namespace

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
            if (bound.tolerance.instead == Tolerance::Instead::kTolerance) {
                rule.atol = bound.tolerance.atol;
                rule.rtol = bound.tolerance.rtol;
                rule.ulps = is_half(dtype) ? 0.5 : 0;
            } else {
                bound_errors(rule, bound, dtype);
            }
            break;
        case Accuracy::F:
            break;
    }
    return rule;
}

Judgement judge(double actual, double exact, double sum, const Rule& rule) {
    Judgement result;
    const double magnitude = std::fabs(exact);
    if (rule.may_be_unbounded && !std::isfinite(sum) && std::isfinite(exact)) {
        result.finite = false;
        return result;
    }
    const bool overflows = magnitude >= rule.format.overflow;
    if (std::isnan(exact) || overflows || !std::isfinite(actual)) {
        result.finite = false;
        const bool may_be_nan =
            std::isnan(exact) || (overflows && (std::isnan(sum) || terms_overflow(magnitude, sum, rule)));
        result.ok = std::isnan(actual) ? may_be_nan
                                       : (overflows && actual == std::copysign(kInfinity, exact)) ||
                                             is_beside_overflow(actual, exact, sum, rule);
        result.ok = result.ok || is_lost_on_the_way(actual, exact, sum, rule);
        return result;
    }
    if (actual == exact) return result;
    const double ulp = ulp_of(exact, rule.format);
    const double s = std::isnan(sum) ? magnitude : std::min(sum, kLargest);
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
