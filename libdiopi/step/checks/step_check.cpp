#include "step/checks/step_check.hpp"

#include <algorithm>

#include "check/repeat.hpp"
#include "intercept/call_copy.hpp"

namespace diopi {

Result<TensorPtr> StepUnderTest::as_computed(const TensorPtr& actual, ArgPlace place) const {
    const auto own = step.result_at(place), wanted = computed.result_at(place);
    // A result with another dtype than the output was not converted by the adaptor.
    if (!own || !wanted || actual->dtype != own->spec.dtype || actual->dtype == wanted->spec.dtype) return actual;
    return cast(*actual, wanted->spec.dtype);
}

Status StepCheck::after_attempt(StepUnderTest&, Attempt&, Findings&) { return {}; }

void StepCheck::judge(StepUnderTest&, Findings&) {}

Failure StepCheck::difference(const StepUnderTest& test, ArgPlace place, Attempt& first, Attempt& second,
                              bool may_differ) {
    const auto output = test.step.result_at(place);
    if (!output || !output->has_meaning) return {};
    auto one = first.placed.host_tensor(place, setup_.context());
    auto two = second.placed.host_tensor(place, setup_.context());
    if (!one.ok() || !two.ok()) return failure_of((one.ok() ? two : one).error());
    if ((*one)->shape != (*two)->shape || (*one)->dtype != (*two)->dtype) return {};
    const Dtype dtype = output->spec.dtype;
    const PoisonBytes poison{poison_byte(dtype, Poison::kFirst), poison_byte(dtype, Poison::kSecond)};
    Failure differs = compare_runs(**one, **two, poison, may_differ);
    if (!differs.ok()) differs.reason = test.name_of(place) + ": " + differs.reason;
    return differs;
}

bool makes_tensors(const Row& row) { return std::ranges::any_of(row.args(), &Arg::is_made); }

Error behind(const std::string& words, const Error& error) { return {error.code, words + error.message}; }

Error behind(const std::string& words, const Outcome& outcome) { return failed(words + outcome.message); }

}  // namespace diopi
