#include "run/case_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "call/chain.hpp"
#include "call/invoke.hpp"
#include "check/compare.hpp"
#include "check/legacy.hpp"
#include "run/placed_call.hpp"
#include "run/random_check.hpp"
#include "run/steps.hpp"

namespace diopi {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Crashes and the like are the parent's to judge; among the steps of one case the worst verdict counts.
int severity(Verdict verdict) {
    switch (verdict) {
        case Verdict::kPassed:
            return 0;
        case Verdict::kSkipped:
            return 1;
        case Verdict::kNotImplemented:
            return 2;
        case Verdict::kFailed:
            return 3;
        case Verdict::kTimeout:
            return 4;
        case Verdict::kCrashed:
            return 5;
    }
    return 5;
}

void fail_step(StepResult& result, std::string reason) {
    if (result.verdict == Verdict::kFailed) return;
    result.verdict = Verdict::kFailed;
    result.reason = std::move(reason);
}

/// A step that the device configuration excuses; `result` has the operator's name as its function.
void skip_step(StepResult& result, const std::string& reason) {
    if (result.step == "inplace") result.function += "_inp";
    if (result.step == "backward") result.function += "_backward";
    result.verdict = Verdict::kSkipped;
    result.reason = reason;
}

/// What could not be planned or expected: not implemented yet, or wrong.
void refuse_step(StepResult& result, const Error& error) {
    if (error.code == Errc::kNotImplemented) {
        result.verdict = Verdict::kNotImplemented;
        result.reason = error.message;
    } else {
        fail_step(result, error.message);
    }
}

/// Class B speaks of one rounding. A sum with a factor alpha has two, a complex product or quotient several: they are
/// held to class D, as sums of so many products.
void split_composite(const Call& call, const TensorSpec& spec, Bound& bound) {
    const int alpha = call.row->find("alpha");
    const auto* factor = alpha < 0 ? nullptr : std::get_if<Scalar>(&call.args[static_cast<size_t>(alpha)]);
    const bool scaled = factor != nullptr && std::fabs(factor->as_double()) != 1 && factor->as_double() != 0;
    if (!scaled && !is_complex(spec.dtype)) return;
    bound.accuracy = AccuracyClass::D;
    bound.accumulation_length = is_complex(spec.dtype) ? 4 : 2;
}

class StepRun {
 public:
    StepRun(const Case& c, const CaseOptions& options, CaseSteps& steps, Context& context, InputChecksums& checksums)
        : case_(c), options_(options), steps_(steps), context_(context), checksums_(checksums) {}

    StepResult run(const std::string& name) {
        StepResult result;
        result.step = name;
        result.function = case_.op;
        if (const std::string* reason = case_.skip_reason(name)) {
            skip_step(result, *reason);
            return result;
        }
        auto step = steps_.plan(name);
        if (!step.ok()) {
            refuse_step(result, step.error());
            return result;
        }
        result.function = step->function;
        if (!options_.backend->implements(*step->call.row)) {
            result.verdict = Verdict::kNotImplemented;
            result.reason =
                std::string(options_.backend->name()) + " does not implement " + std::string(step->call.row->function);
            return result;
        }
        judge(*step, result);
        return result;
    }

 private:
    void judge(const Step& step, StepResult& result) {
        auto expected = steps_.expected(step);
        if (!expected.ok()) return refuse_step(result, expected.error());
        auto placed = PlacedCall::create(step, context_, checksums_);
        if (!placed.ok()) return fail_step(result, placed.error().message);
        if (Status s = validate(placed->call()); !s.ok()) return fail_step(result, s.message());
        const auto start = Clock::now();
        const Outcome outcome = Chain(*options_.backend).run(placed->call(), context_);
        if (Status s = context_.device->synchronize(context_.stream); !s.ok()) return fail_step(result, s.message());
        result.seconds = seconds_since(start);
        if (outcome.error == diopiNoImplement || outcome.error == diopiDtypeNotSupported) {
            result.verdict = Verdict::kNotImplemented;
            result.reason = "declined: " + outcome.message;
            return;
        }
        if (!outcome.ok()) return fail_step(result, outcome.message);
        if (Status s = placed->inputs_unchanged(context_); !s.ok()) fail_step(result, s.message());
        if (case_.random) return judge_random(step, *placed, result);
        for (const Expected& value : *expected) compare_one(step, *placed, value, result);
    }

    void judge_random(const Step& step, PlacedCall& placed, StepResult& result) {
        auto again = PlacedCall::create(step, context_, checksums_);
        if (!again.ok()) return fail_step(result, again.error().message);
        const Outcome outcome = Chain(*options_.backend).run(again->call(), context_);
        if (!outcome.ok()) return fail_step(result, "the second run failed: " + outcome.message);
        if (Status s = check_random(step, placed, *again, context_); !s.ok()) fail_step(result, s.message());
    }

    Bound bound_for(const Step& step, const OutputSpec& output) const {
        const TensorSpec& spec = output.spec;
        Bound bound;
        bound.accuracy = step.call.row->accuracy;
        const bool whole = !is_floating(spec.dtype) && !is_complex(spec.dtype);
        if (whole) bound.accuracy = AccuracyClass::A;
        bound.tolerance = case_.tolerance;
        if (!whole && case_.tolerance.instead != Tolerance::Instead::kNothing) {
            const bool ulp = case_.tolerance.instead == Tolerance::Instead::kUlp;
            bound.accuracy = ulp ? AccuracyClass::C : AccuracyClass::E;
            return bound;
        }
        bound.accumulation_length = accumulation_length(step.call, output);
        if (bound.accuracy == AccuracyClass::B) split_composite(step.call, spec, bound);
        if (spec.dtype == Dtype::float64 || spec.dtype == Dtype::complex128) bound.accumulator_roundoff = 0x1p-53;
        return bound;
    }

    void compare_one(const Step& step, PlacedCall& placed, const Expected& value, StepResult& result) {
        const OutputSpec output = *step.result_at(value.arg);
        if (!output.has_meaning) return;
        auto actual = placed.host_tensor(value.arg, context_);
        if (!actual.ok()) return fail_step(result, actual.error().message);
        Comparison comparison = compare_with_sums(step, **actual, value, output);
        comparison.deviation.output = step.call.row->args()[value.arg].name;
        if (!comparison.passed) fail_step(result, comparison.deviation.output + ": " + comparison.reason);
        if (comparison.passed && !comparison.warning.empty() && result.warning.empty()) {
            result.warning = comparison.deviation.output + ": " + comparison.warning;
        }
        result.deviations.push_back(std::move(comparison.deviation));
    }

    /// Class D is held to the lower bound of S first, and to S itself only when that leaves a doubt.
    Comparison compare_with_sums(const Step& step, const Tensor& actual, const Expected& value,
                                 const OutputSpec& output) {
        if (options_.legacy) return compare_legacy(actual, *value.tensor, case_.tolerance);
        const Bound bound = bound_for(step, output);
        const bool sums =
            bound.accuracy == AccuracyClass::D && bound.accumulation_length > 1 && !is_complex(output.spec.dtype);
        if (!sums) return compare(actual, *value.tensor, output.spec, bound, nullptr);
        TensorPtr magnitude = steps_.magnitude(step, output, Oracle::Terms::kPart);
        Comparison comparison = compare(actual, *value.tensor, output.spec, bound, magnitude.get());
        if (comparison.passed && comparison.warning.empty()) return comparison;
        magnitude = steps_.magnitude(step, output, Oracle::Terms::kAll);
        return compare(actual, *value.tensor, output.spec, bound, magnitude.get());
    }

    const Case& case_;
    const CaseOptions& options_;
    CaseSteps& steps_;
    Context& context_;
    InputChecksums& checksums_;
};

void finish(CaseResult& result) {
    for (const StepResult& step : result.steps) {
        if (severity(step.verdict) <= severity(result.verdict)) continue;
        result.verdict = step.verdict;
        result.reason = step.reason;
    }
}

/// The case as one step that was refused before anything ran.
CaseResult refused(CaseResult result, const Error& error) {
    StepResult step;
    step.step = "forward";
    step.function = result.op;
    refuse_step(step, error);
    result.steps.push_back(std::move(step));
    finish(result);
    return result;
}

CaseResult run_steps(const Case& c, const CaseOptions& options, CaseResult result) {
    const CaseBaseline* baseline = nullptr;
    if (options.baseline) {
        auto found = options.baseline(c);
        if (!found.ok()) return refused(std::move(result), found.error());
        baseline = *found;
    }
    auto steps = CaseSteps::create(c, options.seed, baseline);
    if (!steps.ok()) return refused(std::move(result), steps.error());
    Device& device = options.backend->device();
    auto stream = device.create_stream();
    if (!stream.ok()) return refused(std::move(result), stream.error());
    Context context(device, *stream);
    InputChecksums checksums;
    for (const std::string& name : (*steps)->names()) {
        result.steps.push_back(StepRun(c, options, **steps, context, checksums).run(name));
        context.release();
    }
    if (Status s = device.destroy_stream(*stream); !s.ok()) return refused(std::move(result), s.error());
    finish(result);
    return result;
}

}  // namespace

CaseResult describe(const Case& c) {
    CaseResult result;
    result.case_id = c.id();
    result.suite = c.suite;
    result.op = c.op;
    result.dtype = name(c.dtype());
    for (const CaseTensor& tensor : c.tensors) {
        for (size_t i = 0; i < tensor.specs.size() && !tensor.absent; ++i) {
            const TensorSpec& spec = tensor.specs[i];
            const std::string label = tensor.is_list ? tensor.name + "." + std::to_string(i) : tensor.name;
            result.tensors.push_back({label, std::string(name(spec.dtype)), spec.shape});
        }
    }
    return result;
}

CaseResult run_case(const Case& c, const CaseOptions& options) {
    const auto start = Clock::now();
    CaseResult result = describe(c);
    auto rows = rows_for(c);
    if (!rows.ok()) return refused(std::move(result), rows.error());
    const Row& row = rows->forward != nullptr ? *rows->forward : *rows->inplace;
    if (!options.backend->implements(row)) {
        return refused(std::move(result), not_implemented(std::string(options.backend->name()) +
                                                          " does not implement " + std::string(row.function)));
    }
    result = run_steps(c, options, std::move(result));
    result.seconds = seconds_since(start);
    return result;
}

Status plan(const Case& c) {
    auto rows = rows_for(c);
    if (!rows.ok()) return rows.error().code == Errc::kNotImplemented ? Status() : rows.status();
    const Row& row = rows->forward != nullptr ? *rows->forward : *rows->inplace;
    if (row.rule == ShapeRule::unknown) return {};
    auto call = bind_call(row, c, shape_tensors(c));
    if (!call.ok()) return call.error();
    auto outputs = infer(*call, hints_of(c));
    if (!outputs.ok()) return outputs.error();
    if (!c.inplace || rows->inplace == nullptr || rows->inplace == &row) return {};
    call = bind_call(*rows->inplace, c, shape_tensors(c));
    if (!call.ok()) return call.error();
    return infer(*call, hints_of(c)).status();
}

}  // namespace diopi
