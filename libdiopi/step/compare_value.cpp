#include "step/compare_value.hpp"

#include <optional>

#include "check/legacy.hpp"
#include "intercept/places.hpp"
#include "step/bounds.hpp"
#include "step/slices.hpp"

namespace diopi {

namespace {

/// Compares part by part with the error bounds of the parts, which take little memory; nullopt where the call has no
/// such parts, or one of them is not known to be right.
std::optional<Comparison> compare_parts(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                                        const OutputSpec& output, const Bound& bound) {
    const auto& [rules, expectations, step] = expected;
    const Call call = step.call_of_reference();
    const auto parts = SlicedCall::create(call, step.outputs);
    const auto is_whole = [&](const Tensor& tensor) {
        return tensor.shape == output.spec.shape && tensor.is_contiguous();
    };
    if (!parts || !is_whole(actual) || !is_whole(*value.tensor)) return std::nullopt;
    Comparison all;
    for (int64_t slice = 0; slice < parts->slices(); ++slice) {
        const TensorPtr errors = expectations.error_bounds(step, output, *parts, slice);
        if (errors == nullptr) return std::nullopt;
        const Tensor came = parts->part(slice, actual), wanted = parts->part(slice, *value.tensor);
        const TensorSpec spec{came.shape, output.spec.dtype, {}};
        const Comparison part = compare(came, wanted, spec, bound, errors.get(), OnMismatch::kStop);
        if (!part.passed) return std::nullopt;
        join(all, part);
    }
    return all;
}

/// Compares by class E: first with the least bounds that there can be, which need no computation.
Comparison compare_composite(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                             const OutputSpec& output, Bound bound) {
    Comparison comparison = compare(actual, *value.tensor, output.spec, bound, nullptr, OnMismatch::kStop);
    if (comparison.passed) return comparison;
    if (auto passed = compare_parts(expected, actual, value, output, bound)) return *passed;
    const TensorPtr errors = expected.expectations.error_bounds(expected.step, output);
    if (errors == nullptr) bound.tolerance.instead = Tolerance::Instead::kTolerance;
    return compare(actual, *value.tensor, output.spec, bound, errors.get());
}

/// Compares by class B. Of a truncated quotient the reference knows where its first rounding may show.
Comparison compare_rounded(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                           const OutputSpec& output, const Bound& bound) {
    const bool is_last = bound.tolerance.instead != Tolerance::Instead::kNothing;
    const OnMismatch on_mismatch = is_last ? OnMismatch::kExplain : OnMismatch::kStop;
    Comparison comparison = compare(actual, *value.tensor, output.spec, bound, nullptr, on_mismatch);
    if (comparison.passed || is_last) return comparison;
    if (auto passed = compare_parts(expected, actual, value, output, bound)) return *passed;
    const TensorPtr errors = expected.expectations.error_bounds(expected.step, output);
    return compare(actual, *value.tensor, output.spec, bound, errors.get());
}

Comparison compare_settled(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                           const OutputSpec& output) {
    const auto& [rules, expectations, step] = expected;
    if (rules.legacy) return compare_legacy(actual, *value.tensor, rules.tolerance);
    const Bound bound = bound_for(rules, step, output);
    const bool is_derived = bound.tolerance.instead == Tolerance::Instead::kNothing;
    if (bound.accuracy == AccuracyClass::E && is_derived) {
        return compare_composite(expected, actual, value, output, bound);
    }
    if (bound.accuracy == AccuracyClass::B) return compare_rounded(expected, actual, value, output, bound);
    const bool in_tf32 = bound.extra_roundoff > 0;
    const bool several = bound.accumulation_length > 1 || in_tf32;
    if (bound.accuracy != AccuracyClass::D || !several)
        return compare(actual, *value.tensor, output.spec, bound, nullptr);
    TensorPtr magnitude = expectations.magnitude(step, output, Oracle::Terms::kPart);
    Comparison comparison = compare(actual, *value.tensor, output.spec, bound, magnitude.get(), OnMismatch::kStop);
    if (comparison.passed && comparison.warning.empty()) return comparison;
    magnitude = in_tf32 ? expectations.magnitude_in_tf32(step, output, bound.extra_roundoff)
                        : expectations.magnitude(step, output, Oracle::Terms::kAll);
    return compare(actual, *value.tensor, output.spec, bound, magnitude.get());
}

}  // namespace

Comparison compare_value(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                         const OutputSpec& output) {
    if (!is_open(expected.step.call, value.arg)) return compare_settled(expected, actual, value, output);
    TensorPtr came = std::make_shared<Tensor>(actual), wanted = value.tensor;
    const Status settled = settle(expected.step.call, value.arg, came, wanted);
    if (!settled.ok()) {
        Comparison failed;
        failed.passed = false;
        failed.kind = FailureKind::kError;
        failed.reason = settled.message();
        return failed;
    }
    return compare_settled(expected, *came, {value.arg, wanted}, output);
}

}  // namespace diopi
