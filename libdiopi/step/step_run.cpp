#include "step/step_run.hpp"

#include <algorithm>
#include <cmath>

#include "call/invoke.hpp"
#include "call/tensors.hpp"
#include "check/judge.hpp"
#include "check/legacy.hpp"
#include "check/repeat.hpp"
#include "core/convert.hpp"
#include "core/stopwatch.hpp"
#include "intercept/call_copy.hpp"
#include "step/random_check.hpp"
#include "worker/guard_fault.hpp"

namespace diopi {

namespace {

/// Further calls that show a leak: the last ones must all have kept memory. The C allocator keeps up to seven freed
/// pieces of each size to itself; while these are used up a leak hides, and while they gather there seems to be one.
constexpr int kLeakCalls = 18;
constexpr int kLastCalls = 8;
/// Where a leak is seen beside a driver with threads of its own: calls until these have pieces enough, and rounds of
/// calls each of which must keep memory again.
constexpr int kSettlingCalls = 256, kRoundCalls = 16, kLeakRounds = 6;
/// A quick call is always given them; a slower one when it kept much, or kept something and is not slow. One call of
/// few elements may only have waited for its turn on a busy machine: it is slow when each of so many is.
constexpr int64_t kFewElements = 4096;
constexpr int kTimedCalls = 3;
constexpr double kPromptCall_s = 1e-3;
constexpr double kQuickCall_s = 50e-6;
constexpr double kSlowCall_s = 0.02;
constexpr int64_t kMuch = 64 << 10;

/// How long the stream is held, one run after the other while each call returns in the last part of it. Calls that are
/// long by themselves are not looked at.
constexpr double kHolds_s[] = {0.02, 0.06, 0.18};
constexpr double kWaited = 0.7;
constexpr double kLongCall_s = 0.05;
constexpr const char* kBehind = " behind other work of its stream: ";
constexpr const char* kElsewhere =
    " worked on a stream that is not the context's, or on the host: behind other work of its stream, ";

/// Of each factor of a product in TF32.
constexpr double kTf32Roundoff = 0x1p-11;

/// Above this share of zeros an output that is right proves little, in outputs of at least so many elements.
constexpr double kZeroShare = 0.3;
constexpr int64_t kZeroNumel = 20;

/// A step keeps its first failure.
void fail_step(StepResult& result, Failure failure) {
    if (failure.ok() || result.verdict == Verdict::kFailed) return;
    result.verdict = Verdict::kFailed;
    result.kind = failure.kind;
    result.reason = std::move(failure.reason);
}

/// A call, or something around it, ended with this message.
void fail_step(StepResult& result, std::string message) { fail_step(result, failure_of(failed(std::move(message)))); }

void fail_step(StepResult& result, const Status& status) {
    if (!status.ok()) fail_step(result, status.message());
}

void warn(StepResult& result, std::string warning) {
    if (result.warning.empty()) result.warning = std::move(warning);
}

/// Class B speaks of one rounding. A sum with a factor alpha has two, a complex product or quotient several: they are
/// held to class D, as sums of so many products.
void split_composite(const Call& call, const TensorSpec& spec, Bound& bound) {
    bool scaled = false;
    for (size_t i = 0; i < call.args.size(); ++i) {
        const auto* factor = call.row->args()[i].is_factor ? std::get_if<Scalar>(&call.args[i]) : nullptr;
        scaled |= factor != nullptr && std::fabs(factor->as_double()) != 1 && factor->as_double() != 0;
    }
    if (!scaled && !is_complex(spec.dtype)) return;
    bound.accuracy = AccuracyClass::D;
    bound.accumulation_length = is_complex(spec.dtype) ? 4 : 2;
}

/// What a rounding to float32 in front of the one to a half type adds, in ulp of that. A number beside a tensor acts in
/// float32, and what comes of both need not be as close to a half as the product or quotient of two halves is.
double ulp_of_first_rounding(const Call& call, Dtype dtype) {
    bool has_number = false;
    for (size_t i = 0; i < call.args.size(); ++i) {
        has_number |= std::holds_alternative<Scalar>(call.args[i]) && !call.row->args()[i].is_factor;
    }
    if (!has_number || !is_half(dtype)) return 0;
    return 0.5 * std::ldexp(1.0, format_of(dtype).significand - format_of(Dtype::float32).significand);
}

/// Whether the function makes output tensors itself: they outlive the call by right.
bool makes_tensors(const Row& row) {
    return std::ranges::any_of(row.args(), [](const Arg& a) { return a.kind == ArgKind::tensors && a.is_output; });
}

int64_t elements_of(const Call& call) {
    int64_t elements = 0;
    for_each_tensor(call, [&](const Place&, const TensorPtr& tensor) { elements += tensor->numel(); });
    return elements;
}

/// Of a floating tensor with elements.
double share_of_zeros(const Tensor& tensor) {
    const Tensor* wide = &tensor;
    TensorPtr widened;
    if (tensor.dtype != Dtype::float64 || !tensor.is_contiguous()) {
        auto made = make_tensor(cpu_device(), {tensor.shape, Dtype::float64, {}});
        if (!made.ok()) return 0;
        widened = *made;
        widen(tensor, *widened);
        wide = widened.get();
    }
    const auto* values = wide->data_as<double>();
    const auto zeros = std::count(values, values + wide->numel(), 0.0);
    return static_cast<double>(zeros) / static_cast<double>(wide->numel());
}

/// Of the step's floating input that has the most zeros.
double share_of_zero_inputs(const Step& step) {
    double most = 0;
    for (size_t i = 0; i < step.call.args.size(); ++i) {
        const auto* tensor = std::get_if<TensorPtr>(&step.call.args[i]);
        if (tensor == nullptr || *tensor == nullptr || step.call.row->args()[i].is_output) continue;
        if (!is_floating((*tensor)->dtype) || (*tensor)->numel() == 0 || (*tensor)->is_sparse()) continue;
        most = std::max(most, share_of_zeros(**tensor));
    }
    return most;
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100)) + "%"; }

}  // namespace

Status with_placement(const StepRules& rules, LayoutRule layout, const std::function<void(Placement&)>& use) {
    GuardedDevice device(rules.backend->device(), rules.checks.guard);
    auto stream = device.create_stream();
    if (!stream.ok()) return stream.error();
    {
        const bool guarded = rules.checks.guard != Guard::kNone;
        Context context(device, *stream);
        Placement placement(context, guarded ? &device : nullptr, rules.checks.inputs, std::move(layout));
        use(placement);
    }
    return device.destroy_stream(*stream);
}

void refuse_step(StepResult& result, const Error& error) {
    if (error.code == Errc::kNotImplemented) {
        result.verdict = Verdict::kNotImplemented;
        result.reason = error.message;
    } else {
        fail_step(result, error.message);
    }
}

StepRun::StepRun(const StepRules& rules, Expectations& expectations, Placement& placement)
    : rules_(rules),
      expectations_(expectations),
      placement_(placement),
      context_(&placement.context()),
      first_chain_(*rules.backend),
      chain_(*rules.backend),
      stream_check_(*rules.backend, placement) {
    if (rules.first_run != nullptr) first_chain_.add(*rules.first_run);
    if (rules.adaptor != nullptr) {
        first_chain_.add(*rules.adaptor);
        chain_.add(*rules.adaptor);
    }
    for (Interceptor* tool : rules.interceptors) {
        first_chain_.add(*tool);
        chain_.add(*tool);
    }
}

void StepRun::run(const Step& step, StepResult& result) {
    const Row& row = *step.call.row;
    if (!rules_.backend->implements(row)) return refuse_step(result, lacks(*rules_.backend, row.function));
    const auto judged = judged_for(step);
    if (!judged.ok()) return fail_step(result, judged.error().message);
    judged_ = *judged;
    auto expected = expectations_.expected(*judged_);
    if (!expected.ok()) return refuse_step(result, expected.error());
    if (rules_.adaptor != nullptr) {
        result.reason = beyond_integers(*judged_, *expected, rules_.adaptor->rules());
        if (!result.reason.empty()) {
            result.verdict = Verdict::kSkipped;
            return;
        }
    }
    actual_.clear();
    wrong_in_second_ = {};
    call_context_ = step.name + " (" + std::string(row.function) + ")";
    judge(step, *expected, result);
    if (result.verdict == Verdict::kFailed && rules_.on_failure) {
        rules_.on_failure({step, *expected, actual_, result});
    }
    set_call_context("");
}

Result<const Step*> StepRun::judged_for(const Step& step) {
    if (rules_.adaptor == nullptr) return &step;
    auto computed = computed_step(step, rules_.adaptor->rules());
    if (!computed.ok()) return computed.error();
    if (!*computed) return &step;
    return computed_.emplace_back(std::make_unique<Step>(std::move(**computed))).get();
}

Result<TensorPtr> StepRun::as_judged(const Step& step, const TensorPtr& actual, size_t arg) const {
    const auto own = step.result_at(arg), judged = judged_->result_at(arg);
    // What has another dtype than the output is none of the adaptor's doing.
    if (!own || !judged || actual->dtype != own->spec.dtype || actual->dtype == judged->spec.dtype) return actual;
    return cast(*actual, judged->spec.dtype);
}

Status StepRun::call(Trial& trial, const Chain& chain) {
    set_call_context(call_context_);
    trial.held_before = device().allocated_bytes().value_or(0);
    const Stopwatch watch;
    trial.outcome = chain.run(trial.placed.call(), *context_);
    if (Status s = device().synchronize(context_->stream); !s.ok()) return s;
    trial.seconds = watch.seconds();
    if (rules_.adaptor != nullptr) trial.adapted = to_record(rules_.adaptor->last());
    set_call_context("the checks after " + call_context_);
    return {};
}

int64_t StepRun::bytes_kept(const Trial& trial) {
    // What the call required of the context is ours to give back.
    context_->release();
    return device().allocated_bytes().value_or(0) - trial.held_before;
}

Result<StepRun::Trial> StepRun::attempt(const Step& step, Poison poison, const Chain& chain) {
    auto placed = PlacedCall::create(step, placement_, poison);
    if (Status s = placed.ok() ? validate(placed->call()) : placed.status(); !s.ok()) {
        // Inputs may still be on their way to memory that is freed now, and written without regard to the stream when
        // it is used again.
        (void)device().synchronize(context_->stream);
        return s.error();
    }
    Trial trial{std::move(*placed), {}};
    std::optional<PoisonedWorkspace> workspace;
    if (rules_.checks.poison) workspace.emplace(*context_, poison);
    if (Status s = call(trial, chain); !s.ok()) return s.error();
    return trial;
}

void StepRun::judge(const Step& step, const std::vector<ArgTensor>& expected, StepResult& result) {
    auto first = attempt(step, Poison::kFirst, first_chain_);
    if (!first.ok()) return fail_step(result, first.error().message);
    result.seconds = first->seconds;
    if (rules_.adaptor != nullptr) result.adapted = first->adapted;
    if (first->outcome.is_declined()) {
        result.verdict = Verdict::kNotImplemented;
        result.reason = "declined: " + first->outcome.message;
        return;
    }
    if (!first->outcome.ok()) return fail_step(result, first->outcome.message);
    judge_integrity(*first, result);
    if (Status s = first->placed.give_up_gaps(*context_); !s.ok()) return fail_step(result, s);
    if (rules_.random || rules_.checks.runs_twice()) judge_pair(step, expected, *first, result);
    for (const ArgTensor& value : expected) {
        auto actual = first->placed.host_tensor(value.arg, *context_);
        if (actual.ok()) actual_.push_back({value.arg, *actual});
        if (actual.ok()) actual = as_judged(step, *actual, value.arg);
        if (!actual.ok()) return fail_step(result, actual.error().message);
        compare_one(*judged_, **actual, value, result);
    }
    // The first run's own values are the better story.
    fail_step(result, wrong_in_second_);
    if (rules_.checks.stream && result.verdict == Verdict::kPassed) judge_stream(step, expected, *first, result);
}

void StepRun::judge_integrity(Trial& trial, StepResult& result) {
    auto damage = placement_.damage();
    if (!damage.ok()) return fail_step(result, damage.error().message);
    if (!damage->empty()) fail_step(result, {FailureKind::kStrayWrite, damage->front()});
    if (rules_.checks.guard != Guard::kNone) fail_step(result, trial.placed.check_gaps(*context_));
    fail_step(result, trial.placed.check_inputs(placement_));
}

void StepRun::judge_pair(const Step& step, const std::vector<ArgTensor>& expected, Trial& first, StepResult& result) {
    context_->release();
    auto second = attempt(step, Poison::kSecond, chain_);
    if (!second.ok()) return fail_step(result, "the second run failed: " + second.error().message);
    if (!second->outcome.ok()) return fail_step(result, "the second run failed: " + second->outcome.message);
    judge_integrity(*second, result);
    const int64_t kept = bytes_kept(*second);
    compare_pair(step, first, *second, result);
    wrong_in_second_ = wrong_in_second(step, expected, *second);
    if (rules_.random) judge_random(step, first, *second, result);
    if (rules_.checks.leaks) judge_leak(step, *second, kept, result);
}

/// What is wrong with a second run that may differ from the first.
Failure StepRun::wrong_in_second(const Step& step, const std::vector<ArgTensor>& expected, Trial& second) {
    if (step.call.row->repeat != Repeat::varying) return {};
    for (const ArgTensor& value : expected) {
        const OutputSpec output = *judged_->result_at(value.arg);
        if (!output.has_meaning) continue;
        auto actual = second.placed.host_tensor(value.arg, *context_);
        if (actual.ok()) actual = as_judged(step, *actual, value.arg);
        if (!actual.ok()) return failure_of(actual.error());
        const Comparison comparison = compare_with_sums(*judged_, **actual, value, output);
        const std::string name(step.call.row->args()[value.arg].name);
        if (!comparison.passed) {
            return {comparison.kind, "a second run is wrong: " + name + ": " + comparison.reason};
        }
    }
    return {};
}

void StepRun::judge_random(const Step& step, Trial& first, Trial& second, StepResult& result) {
    Step reseeded = step;
    Generator other;
    for (Value& value : reseeded.call.args) {
        auto* handle = std::get_if<diopiGeneratorHandle_t>(&value);
        if (handle == nullptr) continue;
        other = {~(*handle)->seed, (*handle)->offset};
        *handle = &other;
    }
    auto third = attempt(reseeded, Poison::kSecond, chain_);
    if (!third.ok()) return fail_step(result, "the run with another seed failed: " + third.error().message);
    if (!third->outcome.ok()) return fail_step(result, "the run with another seed failed: " + third->outcome.message);
    fail_step(result, check_random(step, {first.placed, second.placed, third->placed}, *context_));
    context_->release();
}

void StepRun::judge_leak(const Step& step, Trial& trial, int64_t kept, StepResult& result) {
    const bool worth_it = trial.seconds < kQuickCall_s || kept > kMuch || (kept > 0 && trial.seconds < kSlowCall_s);
    const bool is_small = elements_of(trial.placed.call()) <= kFewElements;
    if ((!worth_it && !is_small) || makes_tensors(*step.call.row)) return;
    int64_t least = INT64_MAX;
    double fastest_s = trial.seconds;
    for (int i = 0; i < kLeakCalls && least > 0; ++i) {
        if (!worth_it && i == kTimedCalls && fastest_s > kPromptCall_s) return;
        if (Status s = call(trial, chain_); !s.ok()) return fail_step(result, s);
        fastest_s = std::min(fastest_s, trial.seconds);
        const int64_t now = bytes_kept(trial);
        if (i >= kLeakCalls - kLastCalls) least = std::min(least, now);
    }
    // A driver's threads free late, and each keeps freed pieces to itself: only what goes on growing is kept.
    const int more = device().is_host() || least <= 0 ? 0 : kSettlingCalls + kLeakRounds * kRoundCalls;
    int64_t held_before = 0;
    for (int i = 1; i <= more; ++i) {
        if (Status s = call(trial, chain_); !s.ok()) return fail_step(result, s);
        const bool ends_round = i >= kSettlingCalls && (i - kSettlingCalls) % kRoundCalls == 0;
        if (!ends_round) continue;
        const int64_t held = trial.held_before + bytes_kept(trial);
        if (i > kSettlingCalls && 2 * (held - held_before) < least * kRoundCalls) return;
        held_before = held;
    }
    if (least <= 0) return;
    fail_step(result, {FailureKind::kKeepsMemory, "keeps " + std::to_string(least) + " bytes of memory at each call"});
}

/// A call that waits for its stream takes longer the longer the stream is held; any other delay does not grow with it.
void StepRun::judge_stream(const Step& step, const std::vector<ArgTensor>& expected, Trial& first, StepResult& result) {
    // What makes tensors must know their sizes, and tools around the call may wait for what they look at.
    const bool has_tools = !rules_.interceptors.empty() || rules_.adaptor != nullptr;
    if (makes_tensors(*step.call.row) || has_tools || first.seconds > kLongCall_s) return;
    const std::string function(step.call.row->function);
    set_call_context(call_context_ + " with its stream held");
    for (const double hold_s : kHolds_s) {
        context_->release();
        auto held = stream_check_.run(step, hold_s);
        if (!held.ok()) return fail_step(result, function + kBehind + held.error().message);
        if (!*held) return;
        if (Failure wrong = differs_when_held(step, expected, first, **held); !wrong.ok()) {
            return fail_step(result, {FailureKind::kStream, function + kElsewhere + wrong.reason});
        }
        if ((*held)->held_s < hold_s / 2 || (*held)->call_s < kWaited * (*held)->held_s) return;
    }
    fail_step(result, {FailureKind::kStream, function + " waited for the stream inside the call"});
}

/// What is different in a run whose inputs were copied, and whose outputs were read, in the order of the stream alone.
Failure StepRun::differs_when_held(const Step& step, const std::vector<ArgTensor>& expected, Trial& first,
                                   HeldRun& held) {
    if (!held.outcome.ok()) return {FailureKind::kStream, held.outcome.message};
    for (size_t arg = 0; arg < step.call.args.size(); ++arg) {
        const auto output = step.result_at(arg);
        if (!output || !output->has_meaning) continue;
        const std::string name(step.call.row->args()[arg].name);
        auto one = first.placed.host_tensor(arg, *context_);
        auto two = held.placed.host_tensor(arg, *context_);
        if (!one.ok() || !two.ok()) return failure_of((one.ok() ? two : one).error());
        if (step.call.row->repeat == Repeat::varying) {
            const auto value = std::ranges::find(expected, arg, &ArgTensor::arg);
            if (value == expected.end()) continue;
            const Comparison comparison = compare_with_sums(step, **two, *value, *output);
            if (!comparison.passed) return {comparison.kind, name + ": " + comparison.reason};
            continue;
        }
        const PoisonBytes poison{poison_byte(output->spec.dtype, Poison::kFirst),
                                 poison_byte(output->spec.dtype, Poison::kSecond)};
        const Failure wrong = compare_runs(**one, **two, poison, false);
        if (!wrong.ok()) return {wrong.kind, name + ": " + wrong.reason};
    }
    return {};
}

void StepRun::compare_pair(const Step& step, Trial& first, Trial& second, StepResult& result) {
    if (!rules_.checks.poison && !rules_.checks.repeat) return;
    const bool may_differ = !rules_.checks.repeat || step.call.row->repeat == Repeat::varying;
    for (size_t arg = 0; arg < step.call.args.size(); ++arg) {
        const auto output = step.result_at(arg);
        if (!output || !output->has_meaning) continue;
        auto one = first.placed.host_tensor(arg, *context_);
        auto two = second.placed.host_tensor(arg, *context_);
        if (!one.ok() || !two.ok()) return fail_step(result, (one.ok() ? two : one).error().message);
        const Dtype dtype = output->spec.dtype;
        const PoisonBytes poison{poison_byte(dtype, Poison::kFirst), poison_byte(dtype, Poison::kSecond)};
        if ((*one)->shape != (*two)->shape || (*one)->dtype != (*two)->dtype) continue;  // the values' check says it
        const Failure wrong = compare_runs(**one, **two, poison, may_differ);
        fail_step(result, {wrong.kind, std::string(step.call.row->args()[arg].name) + ": " + wrong.reason});
    }
}

Bound StepRun::bound_for(const Step& step, const OutputSpec& output) const {
    const TensorSpec& spec = output.spec;
    Bound bound;
    bound.accuracy = step.call.row->accuracy;
    bound.max_ulp = step.call.row->max_ulp;
    const bool whole = !is_floating(spec.dtype) && !is_complex(spec.dtype);
    if (whole || (rules_.exact && step.call.row->traits.exact)) bound.accuracy = AccuracyClass::A;
    bound.tolerance = rules_.tolerance;
    if (!whole && rules_.tolerance.instead != Tolerance::Instead::kNothing) {
        const bool ulp = rules_.tolerance.instead == Tolerance::Instead::kUlp;
        bound.accuracy = ulp ? AccuracyClass::C : AccuracyClass::E;
        return bound;
    }
    bound.accumulation_length = accumulation_length(step.call, output);
    if (bound.accuracy == AccuracyClass::B) {
        bound.max_ulp += ulp_of_first_rounding(step.call, spec.dtype);
        split_composite(step.call, spec, bound);
    }
    const double rounded_before =
        rules_.adaptor == nullptr ? 0 : earlier_rounding(step, output, rules_.adaptor->rules());
    if (bound.accuracy == AccuracyClass::B && rounded_before > 0) {
        bound.accuracy = AccuracyClass::C;
        bound.tolerance.instead = Tolerance::Instead::kUlp;
        bound.tolerance.max_ulp = bound.max_ulp + rounded_before;
    }
    if (spec.dtype == Dtype::float64 || spec.dtype == Dtype::complex128) bound.accumulator_roundoff = 0x1p-53;
    const bool is_tf32 = rules_.backend->is_tf32() && spec.dtype == Dtype::float32;
    if (is_tf32 && is_product(step.call, output)) bound.extra_roundoff = 2 * kTf32Roundoff;
    return bound;
}

void StepRun::compare_one(const Step& step, const Tensor& actual, const ArgTensor& value, StepResult& result) {
    const OutputSpec output = *step.result_at(value.arg);
    if (!output.has_meaning) return;
    const std::string name(step.call.row->args()[value.arg].name);
    Comparison comparison = compare_with_sums(step, actual, value, output);
    comparison.deviation.output = name;
    fail_step(result, {comparison.kind, name + ": " + comparison.reason});
    if (comparison.passed && !comparison.warning.empty()) warn(result, name + ": " + comparison.warning);
    result.deviations.push_back(std::move(comparison.deviation));
    const bool searched = is_floating(output.spec.dtype) && !step.call.row->traits.zeros &&
                          value.tensor->dtype == Dtype::float64 && value.tensor->numel() >= kZeroNumel;
    if (!searched) return;
    const double zeros = share_of_zeros(*value.tensor);
    if (zeros > kZeroShare && share_of_zero_inputs(step) < kZeroShare / 2) {
        warn(result, name + ": " + percent(zeros) + " of the expected values are 0: a fault may hide among them");
    }
}

/// Class D is held to a lower bound of S first, and to S itself only when that leaves a doubt.
Comparison StepRun::compare_with_sums(const Step& step, const Tensor& actual, const ArgTensor& value,
                                      const OutputSpec& output) {
    if (rules_.legacy) return compare_legacy(actual, *value.tensor, rules_.tolerance);
    const Bound bound = bound_for(step, output);
    const bool in_tf32 = bound.extra_roundoff > 0;
    const bool several = bound.accumulation_length > 1 || in_tf32;
    const bool sums = bound.accuracy == AccuracyClass::D && several && !is_complex(output.spec.dtype);
    if (!sums) return compare(actual, *value.tensor, output.spec, bound, nullptr);
    TensorPtr magnitude = expectations_.magnitude(step, output, Oracle::Terms::kPart);
    Comparison comparison = compare(actual, *value.tensor, output.spec, bound, magnitude.get());
    if (comparison.passed && comparison.warning.empty()) return comparison;
    magnitude = in_tf32 ? expectations_.magnitude_in_tf32(step, output, bound.extra_roundoff)
                        : expectations_.magnitude(step, output, Oracle::Terms::kAll);
    return compare(actual, *value.tensor, output.spec, bound, magnitude.get());
}

}  // namespace diopi
