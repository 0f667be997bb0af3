#include "check/legacy.hpp"

#include <cmath>

#include "check/diagnose.hpp"
#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "check/scan.hpp"
#include "core/convert.hpp"
#include "core/half.hpp"

namespace diopi {

namespace {

/// The oracle of the old suite: rounded to the output dtype before the comparison.
Tensor rounded(const Tensor& oracle, int64_t parts, const Format& format) {
    Tensor result = make_host_tensor(oracle.shape, oracle.dtype);
    const double* in = oracle.data_as<double>();
    double* out = result.data_as<double>();
    for (int64_t i = 0; i < parts; ++i) {
        out[i] = round_to_precision(in[i], format.significand, format.min_exponent, format.largest);
    }
    return result;
}

Rule isclose_rule(const Tolerance& tolerance, Dtype component) {
    Rule rule;
    rule.format = format_of(component);
    rule.atol = tolerance.atol;
    rule.rtol = tolerance.rtol;
    return rule;
}

/// Integers are compared in floating point, like in numpy.
Comparison compare_as_doubles(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
    return compare_legacy(to_oracle(actual, Dtype::float64), to_oracle(expected, Dtype::float64), tolerance);
}

}  // namespace

Comparison compare_legacy(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
    Comparison comparison;
    Deviation& deviation = comparison.deviation;
    deviation.numel = actual.numel();
    if (actual.numel() != expected.numel()) {
        comparison.passed = false;
        comparison.kind = FailureKind::kForm;
        comparison.reason =
            std::to_string(actual.numel()) + " elements where " + std::to_string(expected.numel()) + " are wanted";
        return comparison;
    }
    if (actual.numel() == 0) return comparison;
    if (!is_floating(actual.dtype) && !is_complex(actual.dtype)) return compare_as_doubles(actual, expected, tolerance);

    const Tensor values = gathered(actual);
    Operands operands;
    operands.actual = values.data();
    operands.component = component_of(actual.dtype);
    operands.parts = is_complex(actual.dtype) ? 2 : 1;
    operands.count = actual.numel() * operands.parts;
    const Rule rule = isclose_rule(tolerance, operands.component);
    const Tensor oracle = rounded(to_oracle(expected, wide_dtype(actual.dtype)), operands.count, rule.format);
    operands.expected = oracle.data_as<double>();

    const Scan result = scan(operands, rule, OnMismatch::kExplain);
    deviation.max_abs = result.max_abs;
    deviation.max_rel = result.max_rel;
    deviation.max_ulp = result.max_ulp;
    deviation.budget_used = result.share;
    deviation.cosine = result.cosine_sums.cosine();
    if (result.mismatches == 0) return comparison;
    explain(diagnose(operands, rule), values, oracle, comparison);
    const double allowed = tolerance.mismatch_ratio * static_cast<double>(actual.numel());
    comparison.passed = static_cast<double>(deviation.mismatches) <= allowed;
    if (!comparison.passed) return comparison;
    comparison.kind = FailureKind::kNone;
    comparison.reason.clear();
    return comparison;
}

}  // namespace diopi
