#include "step/checks/step_check.hpp"

#include "check/repeat.hpp"
#include "intercept/call_copy.hpp"
#include "step/compare_value.hpp"

namespace diopi {

Result<TensorPtr> StepUnderTest::as_computed(const TensorPtr& actual, ArgPlace place) const {
    const auto own = step.result_at(place), wanted = computed.result_at(place);
    // A result with another dtype than the output was not converted by the adaptor.
    if (!own || !wanted || actual->dtype != own->spec.dtype || actual->dtype == wanted->spec.dtype) return actual;
    return cast(*actual, wanted->spec.dtype);
}

void StepUnderTest::drop_large_expected() {
    constexpr size_t kLarge = size_t{64} << 20;
    size_t bytes = 0;
    for (const ArgTensor& value : expected) bytes += value.tensor->nbytes();
    has_dropped_expected = bytes >= kLarge;
    if (has_dropped_expected) expected.clear();
}

Status StepCheck::after_attempt(StepUnderTest&, Attempt&, Findings&) { return {}; }

void StepCheck::judge(StepUnderTest&, Findings&) {}

Failure StepCheck::difference(const StepUnderTest& test, ArgPlace place, PlacedCall& first, PlacedCall& second,
                              bool may_differ) {
    const auto output = test.step.result_at(place);
    if (!output || !output->has_meaning) return {};
    auto one = first.host_tensor(place, setup_.context());
    auto two = second.host_tensor(place, setup_.context());
    if (!one.ok() || !two.ok()) return failure_of((one.ok() ? two : one).error());
    if ((*one)->shape != (*two)->shape || (*one)->dtype != (*two)->dtype) return {};
    const Dtype dtype = output->spec.dtype;
    const PoisonBytes poison{poison_byte(dtype, Poison::kFirst), poison_byte(dtype, Poison::kSecond)};
    Failure differs = compare_runs(**one, **two, poison, may_differ);
    if (!differs.ok()) differs.reason = test.name_of(place) + ": " + differs.reason;
    return differs;
}

Failure StepCheck::first_wrong(const StepUnderTest& test, std::span<const ArgTensor> values, PlacedCall& placed) {
    for (const ArgTensor& value : values) {
        const OutputSpec output = *test.computed.result_at(value.place());
        if (!output.has_meaning) continue;
        auto actual = placed.host_tensor(value.place(), setup_.context());
        if (actual.ok()) actual = test.as_computed(*actual, value.place());
        if (!actual.ok()) return failure_of(actual.error());
        const Comparison comparison =
            compare_value({setup_.rules, setup_.expectations, test.computed}, **actual, value, output);
        if (comparison.passed) continue;
        return {comparison.kind, test.name_of(value.place()) + ": " + comparison.reason};
    }
    return {};
}

Error behind(const std::string& words, const Error& error) { return {error.code, words + error.message}; }

Error behind(const std::string& words, const Outcome& outcome) { return failed(words + outcome.message); }

}  // namespace diopi
