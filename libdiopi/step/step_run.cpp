#include "step/step_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "step/undefined.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

Status with_placement(const StepRules& rules, LayoutRule layout, Inputs inputs,
                      const std::function<void(Placement&)>& use) {
    GuardedDevice device(rules.backend->device(), rules.checks.guard, rules.addresses);
    auto stream = device.create_stream();
    if (!stream.ok()) return stream.error();
    {
        const bool guarded = rules.checks.guard != Guard::kNone;
        Context context(device, *stream);
        Placement placement(context, guarded ? &device : nullptr, rules.checks.inputs, std::move(layout), inputs);
        use(placement);
    }
    return device.destroy_stream(*stream);
}

void refuse_step(StepResult& result, const Error& error) { Findings(result).refuse(error); }

StepRun::StepRun(const StepRules& rules, Expectations& expectations, Placement& placement)
    : rules_(rules), expectations_(expectations), placement_(placement), attempts_(rules, placement) {
    checks_ = step_checks({rules_, expectations_, placement_, attempts_});
    attempts_.before_call = [this] {
        for (const auto& check : checks_) check->before_call();
    };
    // The first check of the list is the last before the call and the first after it.
    attempts_.before_attempt = [this](const Attempt& attempt) {
        for (const auto& check : checks_ | std::views::reverse) check->before_attempt(attempt);
    };
    attempts_.after_attempt = [this](const Attempt& attempt) {
        for (const auto& check : checks_) check->after_call(attempt);
    };
}

void StepRun::run(const Step& step, StepResult& result) {
    Findings findings(result);
    const Row& row = *step.call.row;
    if (!rules_.backend->implements(row)) return findings.lacks_function(*rules_.backend, row);
    result.reason = why_undefined(step.call);
    if (!result.reason.empty()) {
        result.verdict = Verdict::kSkipped;
        return;
    }
    const auto computed = computed_for(step);
    if (!computed.ok()) return findings.fail(computed.error());
    auto expected = expectations_.expected(**computed);
    if (!expected.ok() && step.call.asks_for_error()) return check_error(step, **computed, expected.error(), findings);
    if (!expected.ok()) return findings.refuse(expected.error());
    if (rules_.adaptor != nullptr) {
        result.reason = beyond_range(**computed, *expected, rules_.adaptor->rules());
        if (!result.reason.empty()) {
            result.verdict = Verdict::kSkipped;
            return;
        }
    }
    StepUnderTest test{step, **computed, *expected};
    check(test, findings);
    if (Failure lost = placement_.find_lost_inputs(); !lost.ok()) {
        lost.reason += fmt::format(": it is const in {}, and a later call changed it", row.function);
        findings.replace(std::move(lost));
    }
    report_failure(test, result);
    note_idle();
}

void StepRun::report_failure(const StepUnderTest& test, const StepResult& result) {
    if (result.verdict != Verdict::kFailed || !rules_.on_failure || placement_.has_lost_inputs()) return;
    if (!test.has_dropped_expected) return rules_.on_failure({test.step, test.expected, test.actual, result});
    const auto again = expectations_.expected(test.computed);
    rules_.on_failure({test.step, again.ok() ? *again : test.expected, test.actual, result});
}

Result<const Step*> StepRun::computed_for(const Step& step) {
    if (rules_.adaptor == nullptr) return &step;
    auto computed = computed_step(step, rules_.adaptor->rules());
    if (!computed.ok()) return computed.error();
    if (!*computed) return &step;
    return computed_.emplace_back(std::make_unique<Step>(std::move(**computed))).get();
}

void StepRun::check_error(const Step& step, const Step& computed, const Error& wanted, Findings& findings) {
    std::vector<ArgTensor> no_values;
    StepUnderTest test{step, computed, no_values};
    auto attempt = attempts_.first(step);
    if (!attempt.ok()) return findings.fail(attempt.error());
    findings.result().seconds = attempt->seconds;
    if (attempt->outcome.is_declined()) return findings.declined(attempt->outcome.message);
    if (attempt->outcome.ok()) {
        findings.fail({FailureKind::kAccepted, "returned success, and must return an error; " + wanted.message});
    }
    findings.fail(attempt->placed.check_inouts(placement_.context()));
    for (const auto& check : checks_) {
        if (!check->judges_errors()) continue;
        findings.fail(check->after_attempt(test, *attempt, findings));
        check->judge(test, findings);
    }
}

void StepRun::check(StepUnderTest& test, Findings& findings) {
    for (const auto& check : checks_) {
        if (Status s = check->before_first(test.step); !s.ok()) return findings.fail(s);
    }
    auto first = attempts_.first(test.step);
    if (!first.ok()) return findings.fail(first.error());
    StepResult& result = findings.result();
    result.seconds = first->seconds;
    if (rules_.adaptor != nullptr) result.adapted = first->adapted;
    if (first->outcome.is_declined()) return findings.declined(first->outcome.message);
    if (!first->outcome.ok()) return findings.fail(behind("", first->outcome));
    test.first = &*first;
    if (Status s = after_attempt(test, *first, findings); !s.ok()) return findings.fail(s);
    std::optional<Attempt> second;
    const bool runs_twice = std::ranges::any_of(checks_, [](const auto& check) { return check->needs_second(); });
    if (runs_twice) check_second(test, second, findings);
    for (const auto& check : checks_) check->judge(test, findings);
}

void StepRun::check_second(StepUnderTest& test, std::optional<Attempt>& second, Findings& findings) {
    const std::string words = "the second run failed: ";
    placement_.context().release();
    auto attempt = attempts_.another(test.step);
    if (!attempt.ok()) return findings.fail(behind(words, attempt.error()));
    if (!attempt->outcome.ok()) return findings.fail(behind(words, attempt->outcome));
    second.emplace(std::move(*attempt));
    test.second = &*second;
    findings.fail(after_attempt(test, *second, findings));
    placement_.context().release();
}

Status StepRun::after_attempt(StepUnderTest& test, Attempt& attempt, Findings& findings) {
    for (const auto& check : checks_) {
        if (Status s = check->after_attempt(test, attempt, findings); !s.ok()) return s;
    }
    return {};
}

}  // namespace diopi
