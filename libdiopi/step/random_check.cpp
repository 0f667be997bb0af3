#include "step/random_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "check/distribution.hpp"
#include "check/oracle.hpp"
#include "check/token_sampling.hpp"
#include "core/strided.hpp"
#include "intercept/adaptor/conversion.hpp"
#include "step/dropped_attention.hpp"

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

/// A tensor argument of the call before it ran; null if it is a number.
const Tensor* parameter_tensor(const Call& call, int8_t at) {
    const auto* tensor = at < 0 ? nullptr : std::get_if<TensorPtr>(&call.args[static_cast<size_t>(at)]);
    return tensor == nullptr ? nullptr : tensor->get();
}

/// A parameter of a law: a number, or absent; then all integers are drawn that the dtype holds. Source:
/// torch.Tensor.random_.
double number_at(const Call& call, int8_t at, Dtype drawn) {
    if (at < 0) return 0;
    const Value& value = call.args[static_cast<size_t>(at)];
    if (const auto* real = std::get_if<double>(&value)) return *real;
    const auto* integer = std::get_if<int64_t>(&value);
    return integer != nullptr ? static_cast<double>(*integer) : static_cast<double>(integer_range(drawn).high) + 1;
}

/// A parameter that is a number as a tensor of one element.
Tensor as_tensor(const Call& call, int8_t at) {
    if (const Tensor* tensor = parameter_tensor(call, at)) return *tensor;
    Tensor number = make_host_tensor({}, Dtype::float64);
    *number.data_as<double>() = number_at(call, at, Dtype::float64);
    return number;
}

DistributionCheck check_dropout_call(const Call& call, const Tensor& out, const Tensor& mask) {
    const bool draws = call.flag("train");
    const auto p = std::get<double>(call["p"]);
    return check_dropout({out, *call.tensor("input"), draws ? &mask : nullptr, p});
}

/// The tokens that a run drew, with what follows from them.
Result<DistributionCheck> check_tokens(const StepUnderTest& test, PlacedCall& run, Context& context) {
    const Call& call = test.computed.call;
    Status status;
    std::vector<TensorPtr> alive;
    const auto change = [&](const char* arg) {
        SampledTokens::Change made{call.tensor(arg), nullptr};
        if (made.before == nullptr || !status.ok()) return made;
        const ArgPlace place{static_cast<size_t>(call.row->find(arg)), 0};
        auto after = run.host_tensor(place, context);
        if (after.ok()) after = test.as_computed(*after, place);
        if (!after.ok()) {
            status = after.status();
            return made;
        }
        made.after = alive.emplace_back(*after).get();
        return made;
    };
    const SampledTokens tokens{
        *call.tensor("logits"),     call.has("runtime_top_k") ? call.tensor("runtime_top_k") : nullptr,
        call.tensor("skip_decode"), call.tensor("end_ids"),
        call.integer("step"),       change("output_ids"),
        change("finished"),         change("sequence_lengths"),
        change("runtime_top_p"),    change("cum_log_probs"),
        change("output_log_probs")};
    if (!status.ok()) return status.error();
    return check_sampled_tokens(tokens);
}

/// Whether the sample follows the law with the parameters of the call before it ran.
DistributionCheck check_against(const LawOfRow& law, const Call& call, const Tensor& drawn) {
    switch (law.law) {
        case Law::kCategorical:
            return check_categorical(drawn, *parameter_tensor(call, law.a), call.flag("replacement"));
        case Law::kBernoulli:
            if (const Tensor* each = parameter_tensor(call, law.a)) return check_bernoulli(drawn, *each);
            break;
        case Law::kNormal:
            if (parameter_tensor(call, law.a) == nullptr && parameter_tensor(call, law.b) == nullptr) break;
            return check_normal(drawn, as_tensor(call, law.a), as_tensor(call, law.b));
        case Law::kUniform:
        case Law::kIntegerUniform:
        case Law::kPermutation:
        case Law::kDropout:
        case Law::kAttention:
        case Law::kToken:
            break;
    }
    return check_distribution(drawn,
                              {law.law, number_at(call, law.a, drawn.dtype), number_at(call, law.b, drawn.dtype)});
}

/// Whether the numbers of a run follow the law with the parameters, and dropout's with the elements, that the device
/// got.
Result<DistributionCheck> check_law(const StepUnderTest& test, PlacedCall& run, Context& context) {
    const LawOfRow& law = test.step.call.row->law;
    const Call& call = test.computed.call;
    if (law.law == Law::kToken) return check_tokens(test, run, context);
    const auto arg = static_cast<size_t>(law.output);
    auto numbers = run.host_tensor(arg, context);
    if (numbers.ok()) numbers = dense(*numbers);
    if (numbers.ok()) numbers = test.as_computed(*numbers, {arg, 0});
    if (!numbers.ok()) return numbers.error();
    if (law.law == Law::kAttention) return check_dropped_attention(test.computed, **numbers);
    if (law.law != Law::kDropout) return check_against(law, call, **numbers);
    const auto mask = run.host_tensor(static_cast<size_t>(test.step.call.row->find("mask")), context);
    if (!mask.ok()) return mask.error();
    return check_dropout_call(call, **numbers, **mask);
}

/// From so many numbers of categories on, two samples are not equal by chance.
constexpr int64_t kLeastNumbers = 100;

/// Whether two samples of a law with only two values may be equal by chance.
bool may_agree(const LawOfRow& law, const DistributionCheck& check) {
    if (law.law == Law::kCategorical) return check.n < kLeastNumbers;
    if (law.law == Law::kToken) return check.agreement > kLeastPValue * kLeastPValue;
    if (law.law != Law::kBernoulli && law.law != Law::kDropout) return false;
    const double each = std::max(0.0, 1 - 2 * check.deviation * check.deviation);
    return std::pow(each, static_cast<double>(check.n)) > kLeastPValue * kLeastPValue;
}

/// The generators of the step before the call.
std::vector<const Generator*> generators_of(const Step& step) {
    std::vector<const Generator*> before;
    for (const Value& value : step.call.args) {
        for_each_generator(value, [&](const Generator* state) { before.push_back(state); });
    }
    return before;
}

/// Whether the generators have the same states after the call.
bool all_stayed(std::span<const Generator* const> before, const PlacedCall& after) {
    return !before.empty() && std::ranges::equal(before, after.generators(), [](const Generator* old, const auto& now) {
        return old->seed == now->seed && old->offset == now->offset;
    });
}

bool has_other_seeds(std::span<const Generator* const> before, const PlacedCall& after) {
    return !std::ranges::equal(before, after.generators(),
                               [](const Generator* old, const auto& now) { return old->seed == now->seed; });
}

/// So many numbers are not the same by chance, if no value is drawn nearly always.
constexpr int64_t kWindow = 256;
constexpr double kLeastDeviationOfTwo = 0.3;

/// Whether the first numbers of `next` are also some of `first`, from its second number on.
bool begins_within(const Tensor& next, const Tensor& first) {
    const size_t size = size_of(first.dtype), window = size * static_cast<size_t>(kWindow);
    const auto *a = static_cast<const std::byte*>(first.data()), *b = static_cast<const std::byte*>(next.data());
    for (int64_t shift = 1; shift + kWindow <= first.numel(); ++shift) {
        if (std::memcmp(a + static_cast<size_t>(shift) * size, b, window) == 0) return true;
    }
    return false;
}

/// Whether the law draws each element anew, from values of which none is drawn nearly always.
bool never_repeats(const LawOfRow& law, const DistributionCheck& check) {
    switch (law.law) {
        case Law::kUniform:
        case Law::kNormal:
        case Law::kIntegerUniform:
            return check.deviation > 0;
        case Law::kBernoulli:
        case Law::kDropout:
            return check.deviation > kLeastDeviationOfTwo;
        default:
            return false;
    }
}

}  // namespace

Failure check_random(const StepUnderTest& test, const RandomRuns& runs, Context& context) {
    const Step& step = test.step;
    const LawOfRow& law = step.call.row->law;
    if (step.name == "backward" && step.call.row->accuracy == AccuracyClass::E) return {};
    if (law.output < 0) {
        return {FailureKind::kError, "no distribution is known for " + std::string(step.call.row->function)};
    }
    const auto arg = static_cast<size_t>(law.output);
    const std::string name(step.call.row->args()[arg].name);
    const TensorSpec spec = step.result_at(arg)->spec;
    TensorPtr drawn[2];
    PlacedCall* const calls[] = {&test.first->placed, &test.second->placed};
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
    auto law_holds = check_law(test, test.first->placed, context);
    if (!law_holds.ok()) return failure_of(law_holds.error());
    DistributionCheck& check = *law_holds;
    const bool may_be_chance = !check.passed && check.p_value < kLeastPValue && check.p_value > kLeastPValueOfAll;
    if (may_be_chance) {
        const auto again = check_law(test, runs.other, context);
        if (!again.ok()) return failure_of(again.error());
        check.passed = again->passed;
    }
    if (!check.passed) return {FailureKind::kDistribution, check.reason};
    if (law.law == Law::kDropout && !step.call.flag("train")) return {};
    if (check.n == 0 || check.deviation == 0) return {};  // a law with one value has no others
    const std::vector<const Generator*> before = generators_of(step);
    if (all_stayed(before, test.second->placed)) {
        return {FailureKind::kError,
                "the generator's state did not advance: the next call would give the same numbers"};
    }
    if (has_other_seeds(before, test.second->placed)) {
        return {FailureKind::kError, "the generator has another seed after the call: only its offset advances"};
    }
    if (check.n < kLeastSample) return {};  // a few numbers of a coarse dtype may be equal by chance
    // Zeros of a dropout's input are the same with any flags.
    const auto seeded = static_cast<size_t>(law.law == Law::kDropout ? step.call.row->find("mask") : law.output);
    TensorPtr first, other, next;
    const std::pair<TensorPtr*, PlacedCall*> seen[] = {
        {&first, &test.first->placed}, {&other, &runs.other}, {&next, &runs.next}};
    for (const auto& [to, run] : seen) {
        auto numbers = run->host_tensor(seeded, context);
        if (numbers.ok()) numbers = dense(*numbers);
        if (!numbers.ok()) return failure_of(numbers.error());
        *to = *numbers;
    }
    if (!may_agree(law, check) && same_elements(*first, *other)) {
        return {FailureKind::kError,
                fmt::format("a generator with another {} gave the same numbers", runs.other_state)};
    }
    if (never_repeats(law, check) && begins_within(*next, *first)) {
        return {FailureKind::kError, "the generator's state did not advance far enough: the next call repeats numbers"};
    }
    return {};
}

}  // namespace diopi
