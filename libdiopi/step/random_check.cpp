#include "step/random_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
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

/// The tokens that the first run drew, with what follows from them.
Result<DistributionCheck> check_tokens(const StepUnderTest& test, Context& context) {
    const Call& call = test.computed.call;
    Status status;
    std::vector<TensorPtr> alive;
    const auto change = [&](const char* arg) {
        SampledTokens::Change made{call.tensor(arg), nullptr};
        if (made.before == nullptr || !status.ok()) return made;
        const ArgPlace place{static_cast<size_t>(call.row->find(arg)), 0};
        auto after = test.first->placed.host_tensor(place, context);
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

/// Whether the generators of the step have the same states after the call.
bool all_stayed(const Step& step, const PlacedCall& after) {
    std::vector<const Generator*> before;
    for (const Value& value : step.call.args) {
        for_each_generator(value, [&](const Generator* state) { before.push_back(state); });
    }
    return !before.empty() && std::ranges::equal(before, after.generators(), [](const Generator* old, const auto& now) {
        return old->seed == now->seed && old->offset == now->offset;
    });
}

}  // namespace

Failure check_random(const StepUnderTest& test, PlacedCall& other_seed, Context& context) {
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
    // The law has the parameters, and dropout the elements, that the device got.
    const auto computed = test.as_computed(drawn[0], {arg, 0});
    if (!computed.ok()) return failure_of(computed.error());
    const Call& call = test.computed.call;
    DistributionCheck check;
    if (law.law == Law::kDropout) {
        auto mask = test.first->placed.host_tensor(static_cast<size_t>(step.call.row->find("mask")), context);
        if (!mask.ok()) return failure_of(mask.error());
        check = check_dropout_call(call, **computed, **mask);
        if (!step.call.flag("train")) {
            return check.passed ? Failure() : Failure{FailureKind::kDistribution, check.reason};
        }
    } else if (law.law == Law::kAttention) {
        auto dropped = check_dropped_attention(test.computed, **computed);
        if (!dropped.ok()) return failure_of(dropped.error());
        check = std::move(*dropped);
    } else if (law.law == Law::kToken) {
        auto tokens = check_tokens(test, context);
        if (!tokens.ok()) return failure_of(tokens.error());
        check = *tokens;
    } else {
        check = check_against(law, call, **computed);
    }
    if (!check.passed) return {FailureKind::kDistribution, check.reason};
    // A few numbers of a coarse dtype may be equal by chance, and a law with one value has no others.
    if (check.n < kLeastSample || check.deviation == 0) return {};
    // Zeros of a dropout's input are the same with any flags.
    const auto seeded = static_cast<size_t>(law.law == Law::kDropout ? step.call.row->find("mask") : law.output);
    auto one = test.first->placed.host_tensor(seeded, context), other = other_seed.host_tensor(seeded, context);
    if (one.ok()) one = dense(*one);
    if (other.ok()) other = dense(*other);
    if (!one.ok() || !other.ok()) return failure_of((one.ok() ? other : one).error());
    if (!may_agree(law, check) && same_elements(**one, **other)) {
        return {FailureKind::kError, "a generator with another seed gave the same numbers"};
    }
    if (all_stayed(step, test.second->placed)) {
        return {FailureKind::kError,
                "the generator's state did not advance: the next call would give the same numbers"};
    }
    return {};
}

}  // namespace diopi
