#include "check/compare.hpp"

#include <algorithm>

#include "check/diagnose.hpp"
#include "check/judge.hpp"
#include "check/oracle.hpp"
#include "check/scan.hpp"
#include "core/convert.hpp"

namespace diopi {

namespace {

Comparison refuse(Comparison comparison, std::string reason) {
    comparison.passed = false;
    comparison.kind = FailureKind::kForm;
    comparison.reason = std::move(reason);
    return comparison;
}

/// Why the tensors cannot be compared element by element; empty when they can.
std::string mismatch_of_form(const Tensor& actual, const Tensor& expected, const TensorSpec& spec,
                             const Tensor* magnitude) {
    if (actual.shape != spec.shape) {
        return "shape " + to_string(actual.shape) + " where " + to_string(spec.shape) + " is wanted";
    }
    if (actual.dtype != spec.dtype) {
        return "dtype " + std::string(name(actual.dtype)) + " where " + std::string(name(spec.dtype)) + " is wanted";
    }
    if (actual.is_sparse() || expected.is_sparse()) return "a sparse tensor: compare its parts one by one";
    if (expected.shape != spec.shape) {
        return "the reference has shape " + to_string(expected.shape) + ", not " + to_string(spec.shape);
    }
    if (is_complex(expected.dtype) && !is_complex(spec.dtype)) {
        return "the reference is complex where " + std::string(name(spec.dtype)) + " is wanted";
    }
    if (magnitude != nullptr && (magnitude->shape != spec.shape || magnitude->dtype != Dtype::float64)) {
        return "sums of magnitudes and error bounds must be float64 of shape " + to_string(spec.shape);
    }
    const bool has_memory = actual.data() != nullptr && expected.data() != nullptr;
    if (actual.numel() > 0 && !has_memory) return "a tensor without memory";
    return "";
}

void keep_figures(const Scan& figures, Comparison& comparison) {
    Deviation& deviation = comparison.deviation;
    comparison.cosine_sums = figures.cosine_sums;
    deviation.max_abs = figures.max_abs;
    deviation.max_rel = figures.max_rel;
    deviation.max_ulp = figures.max_ulp;
    deviation.budget_used = figures.share;
    deviation.cosine = figures.cosine_sums.cosine();
}

void compare_integers(const Tensor& actual, const Tensor& oracle, Comparison& comparison) {
    comparison.deviation.accuracy_class = 'A';
    if (equal_integers(actual, oracle)) return;
    const Diagnosis diagnosis = diagnose_integers(actual, oracle);
    keep_figures(diagnosis.figures, comparison);
    explain(diagnosis, actual, oracle, comparison);
}

void compare_floats(const Tensor& actual, const Tensor& oracle, const Bound& bound, const Tensor* magnitude,
                    OnMismatch on_mismatch, Comparison& comparison) {
    Operands operands;
    operands.actual = actual.data();
    operands.component = component_of(actual.dtype);
    operands.expected = oracle.data_as<double>();
    operands.magnitude = magnitude != nullptr ? magnitude->data_as<double>() : nullptr;
    operands.parts = is_complex(actual.dtype) ? 2 : 1;
    operands.count = actual.numel() * operands.parts;

    Rule rule = make_rule(bound, operands.component);
    if (bound.accuracy == Accuracy::E && magnitude == nullptr) rule.has_sums = false;
    if (bound.accuracy == Accuracy::B && magnitude != nullptr) {
        rule.has_sums = true;
        rule.sums = 1;
    }
    const Scan result = scan(operands, rule, on_mismatch);
    keep_figures(result, comparison);
    if (result.mismatches > 0 && on_mismatch == OnMismatch::kStop) {
        comparison.passed = false;
    } else if (result.mismatches > 0) {
        explain(diagnose(operands, rule), actual, oracle, comparison);
    } else if (result.warnings > 0) {
        comparison.warning = "class D: " + std::to_string(result.warnings) + " of " + std::to_string(operands.count) +
                             " values beyond the rounding errors to be expected";
    }
}

}  // namespace

Comparison compare(const Tensor& actual, const Tensor& expected, const TensorSpec& spec, const Bound& bound,
                   const Tensor* magnitude, OnMismatch on_mismatch) {
    Comparison comparison;
    comparison.deviation.accuracy_class = static_cast<char>(bound.accuracy);
    comparison.deviation.numel = actual.numel();
    std::string reason = mismatch_of_form(actual, expected, spec, magnitude);
    if (!reason.empty()) return refuse(std::move(comparison), std::move(reason));
    if (bound.accuracy == Accuracy::F || actual.numel() == 0) return comparison;

    const Tensor values = gathered(actual);
    const Tensor oracle = to_oracle(expected, wide_dtype(spec.dtype));
    if (is_floating(spec.dtype) || is_complex(spec.dtype)) {
        const Tensor sums = magnitude != nullptr ? gathered(*magnitude) : Tensor{};
        compare_floats(values, oracle, bound, magnitude != nullptr ? &sums : nullptr, on_mismatch, comparison);
    } else {
        compare_integers(values, oracle, comparison);
    }
    return comparison;
}

void join(Comparison& all, const Comparison& part) {
    Deviation& deviation = all.deviation;
    deviation.accuracy_class = part.deviation.accuracy_class;
    deviation.numel += part.deviation.numel;
    deviation.max_abs = std::max(deviation.max_abs, part.deviation.max_abs);
    deviation.max_rel = std::max(deviation.max_rel, part.deviation.max_rel);
    deviation.max_ulp = std::max(deviation.max_ulp, part.deviation.max_ulp);
    deviation.budget_used = std::max(deviation.budget_used, part.deviation.budget_used);
    all.cosine_sums += part.cosine_sums;
    deviation.cosine = all.cosine_sums.cosine();
}

}  // namespace diopi
