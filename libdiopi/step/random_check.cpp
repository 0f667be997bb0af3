#include "step/random_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "check/distribution.hpp"
#include "core/strided.hpp"

namespace diopi {

namespace {

/// Removes gaps between the elements: one run may have been placed with gaps, another without.
Result<TensorPtr> dense(TensorPtr tensor) {
    if (tensor->is_contiguous()) return tensor;
    auto out = make_tensor(cpu_device(), {tensor->shape, tensor->dtype, {}});
    if (out.ok()) copy_strided(*tensor, **out);
    return out;
}

/// Compares dense tensors bit by bit.
bool same_elements(const Tensor& a, const Tensor& b) {
    return a.numel() == 0 || std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
}

/// Whether the sample follows the law with the parameters of the call before it ran.
DistributionCheck check_against(const LawOfRow& law, const Call& call, const Tensor& drawn) {
    const auto number = [&](int8_t at) { return at < 0 ? 0 : std::get<double>(call.args[static_cast<size_t>(at)]); };
    const bool of_each = law.a >= 0 && call.row->args()[static_cast<size_t>(law.a)].is_tensor();
    if (of_each) return check_bernoulli(drawn, *std::get<TensorPtr>(call.args[static_cast<size_t>(law.a)]));
    return check_distribution(drawn, {law.law, number(law.a), number(law.b)});
}

/// Whether two samples of a law with only two values may be equal by chance.
bool may_agree(const LawOfRow& law, const DistributionCheck& check) {
    if (law.law != Law::kBernoulli) return false;
    const double each = std::max(0.0, 1 - 2 * check.deviation * check.deviation);
    return std::pow(each, static_cast<double>(check.n)) > kLeastPValue * kLeastPValue;
}

const Generator* state_before(const Step& step) {
    for (const Value& value : step.call.args) {
        if (const auto* handle = std::get_if<diopiGeneratorHandle_t>(&value)) return *handle;
    }
    return nullptr;
}

}  // namespace

Failure check_random(const Step& step, const RandomRuns& runs, Context& context) {
    const LawOfRow& law = step.call.row->law;
    if (law.output < 0) {
        return {FailureKind::kError, "no distribution is known for " + std::string(step.call.row->function)};
    }
    const auto arg = static_cast<size_t>(law.output);
    const std::string name(step.call.row->args()[arg].name);
    const TensorSpec spec = step.result_at(arg)->spec;
    TensorPtr drawn[3];
    PlacedCall* const calls[] = {&runs.first, &runs.second, &runs.other_seed};
    for (size_t i = 0; i < std::size(calls); ++i) {
        auto numbers = calls[i]->host_tensor(arg, context);
        if (!numbers.ok()) return failure_of(numbers.error());
        if ((*numbers)->shape != spec.shape || (*numbers)->dtype != spec.dtype) {
            return {FailureKind::kForm, name + " changed its shape or dtype"};
        }
        auto packed = dense(*numbers);
        if (!packed.ok()) return failure_of(packed.error());
        drawn[i] = *packed;
    }
    if (!same_elements(*drawn[0], *drawn[1])) {
        return {FailureKind::kNotRepeatable, "two runs from the same generator state gave different numbers"};
    }
    const DistributionCheck check = check_against(law, step.call, *drawn[0]);
    if (!check.passed) return {FailureKind::kDistribution, check.reason};
    // A few numbers of a coarse dtype may be equal by chance, and a law with one value has no others.
    if (check.n < kLeastSample || check.deviation == 0) return {};
    if (!may_agree(law, check) && same_elements(*drawn[0], *drawn[2])) {
        return {FailureKind::kError, "a generator with another seed gave the same numbers"};
    }
    const Generator* before = state_before(step);
    const Generator* after = runs.second.generator();
    if (before != nullptr && after != nullptr && before->seed == after->seed && before->offset == after->offset) {
        return {FailureKind::kError,
                "the generator's state did not advance: the next call would give the same numbers"};
    }
    return {};
}

}  // namespace diopi
