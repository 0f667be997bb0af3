#include "step/compare_value.hpp"

#include "check/legacy.hpp"
#include "step/bounds.hpp"

namespace diopi {

Comparison compare_value(const Expected& expected, const Tensor& actual, const ArgTensor& value,
                         const OutputSpec& output) {
    const auto& [rules, expectations, step] = expected;
    if (rules.legacy) return compare_legacy(actual, *value.tensor, rules.tolerance);
    const Bound bound = bound_for(rules, step, output);
    const bool in_tf32 = bound.extra_roundoff > 0;
    const bool several = bound.accumulation_length > 1 || in_tf32;
    const bool sums = bound.accuracy == AccuracyClass::D && several && !is_complex(output.spec.dtype);
    if (!sums) return compare(actual, *value.tensor, output.spec, bound, nullptr);
    TensorPtr magnitude = expectations.magnitude(step, output, Oracle::Terms::kPart);
    Comparison comparison = compare(actual, *value.tensor, output.spec, bound, magnitude.get());
    if (comparison.passed && comparison.warning.empty()) return comparison;
    magnitude = in_tf32 ? expectations.magnitude_in_tf32(step, output, bound.extra_roundoff)
                        : expectations.magnitude(step, output, Oracle::Terms::kAll);
    return compare(actual, *value.tensor, output.spec, bound, magnitude.get());
}

}  // namespace diopi
