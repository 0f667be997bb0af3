#include "step/case_run.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/stopwatch.hpp"
#include "step/bad_call.hpp"
#include "step/placement.hpp"
#include "step/steps.hpp"

namespace diopi {

namespace {

/// The worst verdict among the steps of a case counts. The parent judges crashes and time limits.
int severity(Verdict verdict) {
    switch (verdict) {
        case Verdict::kPassed:
            return 0;
        case Verdict::kSkipped:
            return 1;
        case Verdict::kNotImplemented:
            return 2;
        case Verdict::kAdvice:
            return 3;
        case Verdict::kFailed:
            return 4;
        case Verdict::kTimeout:
            return 5;
        case Verdict::kCrashed:
            return 6;
    }
    return 6;
}

/// Skips a step; `result` has the operator's name as its function.
void skip_step(StepResult& result, const std::string& reason) {
    result.function = function_of(result.function, result.step);
    result.verdict = Verdict::kSkipped;
    result.reason = reason;
}

StepResult run_step(const Case& c, CaseSteps& steps, const StepRules& rules, Placement& placement, StepRun& runner,
                    const std::string& name, bool is_last) {
    StepResult result;
    result.step = name;
    result.function = c.op;
    if (const std::string* reason = c.skip_reason(name)) {
        skip_step(result, *reason);
        return result;
    }
    auto step = steps.plan(name);
    if (!step.ok() && name == "inplace" && step.error().code == Errc::kBadInput) {
        // The case has been planned, so the only reason can be that the result does not fit in place.
        skip_step(result, step.error().message);
        return result;
    }
    if (!step.ok()) {
        refuse_step(result, step.error());
        return result;
    }
    if (is_last) steps.end_plans();
    result.function = step->function;
    result.symbol = step->call.row->function;
    if (rules.backend->implements(*step->call.row)) {
        if (const Status taken = runner.take_opaque(*step); !taken.ok()) {
            Findings(result).fail(taken);
            return result;
        }
    }
    if (c.bad) {
        apply(*c.bad, *step);
        run_bad_call(rules, *step, placement, result);
        return result;
    }
    runner.run(*step, result);
    return result;
}

void finish(CaseResult& result) {
    for (const StepResult& step : result.steps) {
        // Steps without a hash count, too: their number is always the same.
        if (step.hash != 0) result.hash = std::rotl(result.hash, 7) ^ step.hash;
        if (severity(step.verdict) <= severity(result.verdict)) continue;
        result.verdict = step.verdict;
        result.kind = step.kind;
        result.reason = step.reason;
    }
}

/// The result of a case of which nothing ran: one step, which refuse(findings) judges.
template <class Refuse>
CaseResult refused_step(CaseResult result, const Refuse& refuse) {
    StepResult step;
    step.step = "forward";
    step.function = result.op;
    Findings findings(step);
    refuse(findings);
    result.steps.push_back(std::move(step));
    finish(result);
    return result;
}

CaseResult refused(CaseResult result, const Error& error) {
    return refused_step(std::move(result), [&](Findings& findings) { findings.refuse(error); });
}

/// One hard case of so many also makes its calls a thousand times, another one has its tensors between protected pages,
/// a third one makes them while another thread calls, and of each four one judges a call with other options, too.
constexpr uint64_t kHardCasesInTurn = 16;

/// Whether all sums of products in the case are sums of whole numbers: one tensor of others rounds them.
bool has_exact_sums(const Case& c) {
    const auto is_exact = [](const CaseTensor& tensor) { return tensor.fill.fn == Fill::kExact; };
    const auto rounds = [&](const CaseTensor& tensor) {
        return !tensor.absent && !is_exact(tensor) && std::ranges::any_of(tensor.specs, [](const TensorSpec& spec) {
            return is_floating(spec.dtype) || is_complex(spec.dtype);
        });
    };
    return std::ranges::any_of(c.tensors, is_exact) && std::ranges::none_of(c.tensors, rounds);
}

/// Runs the case's steps that have no result yet. It ends early, and returns true, behind a step that changed an input
/// which the calls share with the oracle.
Result<bool> run_next_steps(const Case& c, const CaseOptions& options, Inputs inputs, CaseResult& result) {
    const StepRules rules = rules_for(c, options);
    Status planned;
    bool has_lost_inputs = false;
    const Status placed = with_placement(rules, layout_rule(c), inputs, [&](Placement& placement) {
        auto steps = steps_of(c, options, placement.input_memory());
        planned = steps.status();
        if (!planned.ok()) return;
        StepRun runner(rules, **steps, placement);
        std::vector<std::string> names = (*steps)->names();
        std::erase_if(names, [&](const std::string& name) {
            const bool is_wanted =
                options.steps.empty() || std::ranges::find(options.steps, name) != options.steps.end();
            const bool has_run = std::ranges::find(result.steps, name, &StepResult::step) != result.steps.end();
            return !is_wanted || has_run || (c.bad && name != c.bad->step);
        });
        for (auto name = names.begin(); name != names.end() && !has_lost_inputs; ++name) {
            const bool is_last = std::next(name) == names.end();
            result.steps.push_back(run_step(c, **steps, rules, placement, runner, *name, is_last));
            placement.release_inputs();
            placement.context().release();
            has_lost_inputs = placement.has_lost_inputs();
        }
    });
    if (!planned.ok() || !placed.ok()) return (planned.ok() ? placed : planned).error();
    return has_lost_inputs;
}

/// Judges a step that changed its inputs again, on copies of them, and then the steps that follow. A write to the wrong
/// place is reported even if it does not happen again; other failures may have come from the change.
void repeat_last_step(const Case& c, const CaseOptions& options, CaseResult& result) {
    const auto at = static_cast<std::ptrdiff_t>(result.steps.size()) - 1;
    StepResult first = std::move(result.steps.back());
    result.steps.pop_back();
    const auto repeated = run_next_steps(c, options, Inputs::kCopied, result);
    const bool is_write = first.kind == FailureKind::kInputModified || first.kind == FailureKind::kStrayWrite;
    if (!repeated.ok()) {
        result.steps.insert(result.steps.begin() + at, std::move(first));
    } else if (is_write && result.steps[static_cast<size_t>(at)].verdict != Verdict::kFailed) {
        result.steps[static_cast<size_t>(at)] = std::move(first);
    }
}

CaseResult run_steps(const Case& c, const CaseOptions& options, CaseResult result) {
    // A recording has each call once, so no step of it is repeated.
    const Inputs inputs = options.first_run == nullptr ? Inputs::kShared : Inputs::kCopied;
    const auto has_lost_inputs = run_next_steps(c, options, inputs, result);
    if (!has_lost_inputs.ok()) return refused(std::move(result), has_lost_inputs.error());
    if (*has_lost_inputs) repeat_last_step(c, options, result);
    finish(result);
    if (result.steps.empty()) {
        result.verdict = Verdict::kSkipped;
        result.reason = "it has none of the steps of --steps";
    }
    return result;
}

}  // namespace

LayoutRule layout_rule(const Case& c) {
    const LayoutOptions& options = c.layout;
    if (options == LayoutOptions{.nhwc_min_dim = options.nhwc_min_dim}) return {};
    const auto rows = rows_for(c);
    const Row* reduction = options.host && rows.ok() ? rows->forward : nullptr;
    if (reduction != nullptr && !takes_vector(*reduction)) reduction = nullptr;
    return [&c, reduction](const Place& place, const TensorSpec& spec) {
        Layout layout = layout_of(place.arg, spec, layout_salt(c, place.arg.name, place.position), c.layout);
        const bool is_result =
            reduction != nullptr && place.arg.is_output && reduction->find(place.arg.name) >= 0 && spec.shape.empty();
        if (is_result) {
            layout.is_vector = true;
            layout.strides = {1};
        }
        return layout;
    };
}

Result<std::unique_ptr<CaseSteps>> steps_of(const Case& c, const CaseOptions& options, Device& memory) {
    const CaseBaseline* baseline = nullptr;
    const bool narrows = options.adaptor != nullptr && options.adaptor->rules().narrows();
    if (options.baseline && !narrows) {
        auto found = options.baseline(c);
        if (!found.ok()) return found.error();
        baseline = *found;
    }
    return CaseSteps::create(c, options.seed, baseline, memory);
}

StepRules rules_for(const Case& c, const CaseOptions& options) {
    StepRules rules{options.backend, options.checks, c.tolerance, c.random, options.legacy};
    rules.exact = has_exact_sums(c);
    rules.hashes = options.hashes;
    if (options.addresses || c.suite == kHardSuite) rules.addresses = c.key(options.addresses.value_or(0));
    if (c.suite == kHardSuite) {
        // The numbers of hard cases go along with their factors; this key does not.
        const uint64_t drawn = c.key(0) % kHardCasesInTurn;
        rules.many_calls = drawn == 0;
        rules.other_options = drawn % 4 == 2;
        rules.two_threads = drawn == 3;
        rules.splits_work = drawn % 4 == 1;
        if (drawn == 1 && rules.checks.guard == Guard::kZones) rules.checks.guard = Guard::kPages;
    }
    rules.adaptor = options.adaptor;
    rules.interceptors = options.interceptors;
    rules.first_run = options.first_run;
    if (options.on_failure) {
        rules.on_failure = [&](const FailedStep& failed_step) { options.on_failure(c, failed_step); };
    }
    return rules;
}

CaseResult describe(const Case& c) {
    CaseResult result;
    result.case_id = c.id();
    result.suite = c.suite;
    result.op = c.op;
    result.dtype = name(c.dtype());
    result.choices = c.choices;
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
    const Stopwatch watch;
    CaseResult result = describe(c);
    auto rows = rows_for(c);
    if (!rows.ok()) return refused(std::move(result), rows.error());
    const Row& row = rows->forward != nullptr ? *rows->forward : *rows->inplace;
    // Each step has a function of its own, which may be there alone.
    const auto is_there = [&](const Row* each) { return each != nullptr && options.backend->implements(*each); };
    const bool has_other_step = (c.inplace && is_there(rows->inplace)) || (c.backward && is_there(rows->backward));
    if (!is_there(&row) && !has_other_step) {
        return refused_step(std::move(result),
                            [&](Findings& findings) { findings.lacks_function(*options.backend, row); });
    }
    result = run_steps(c, options, std::move(result));
    result.seconds = watch.seconds();
    return result;
}

}  // namespace diopi
