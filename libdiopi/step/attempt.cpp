#include "step/attempt.hpp"

#include <optional>
#include <utility>

#include "call/invoke.hpp"
#include "core/stopwatch.hpp"

namespace diopi {

AttemptRunner::AttemptRunner(const StepRules& rules, Placement& placement)
    : rules_(rules),
      placement_(placement),
      context_(placement.context()),
      first_chain_(*rules.backend),
      chain_(*rules.backend) {
    if (rules.first_run != nullptr) first_chain_.add(*rules.first_run);
    for (Chain* chain : {&first_chain_, &chain_}) {
        if (rules.adaptor != nullptr) chain->add(*rules.adaptor);
        for (Interceptor* tool : rules.interceptors) chain->add(*tool);
    }
}

Status AttemptRunner::take_opaque(Step& step) {
    if (step.maker == nullptr) return {};
    start(step);
    note_step(WorkPhase::kInCall, step_name_, step.maker->call.row->function);
    const Status taken = diopi::take_opaque(step, chain_, placement_);
    note_step(WorkPhase::kInChecks, step_name_, step.call.row->function);
    return taken;
}

Result<Attempt> AttemptRunner::first(const Step& step) { return run(step, Poison::kFirst, first_chain_); }

Result<Attempt> AttemptRunner::another(const Step& step) { return run(step, Poison::kSecond, chain_); }

Status AttemptRunner::repeat(Attempt& attempt, WorkPhase phase) { return call(attempt, chain_, phase); }

void AttemptRunner::free_required(Attempt& attempt) {
    attempt.placed.drop_opaque();
    context_.release();
}

Result<Attempt> AttemptRunner::run(const Step& step, Poison poison, const Chain& chain) {
    start(step);
    auto placed = PlacedCall::create(step, placement_, poison);
    if (Status s = placed.ok() ? validate(placed->call()) : placed.status(); !s.ok()) {
        // Copies of inputs may still run, but their memory is freed now, and the next user may write it without regard
        // to the stream.
        (void)context_.device->synchronize(context_.stream);
        return s.error();
    }
    Attempt attempt{std::move(*placed)};
    std::optional<PoisonedWorkspace> workspace;
    if (rules_.checks.poison) workspace.emplace(context_, poison);
    if (before_attempt) before_attempt(attempt);
    const Status called = call(attempt, chain, WorkPhase::kInCall);
    if (after_attempt) after_attempt(attempt);
    if (!called.ok()) return called.error();
    return attempt;
}

Status AttemptRunner::call(Attempt& attempt, const Chain& chain, WorkPhase phase) {
    const std::string_view function = attempt.placed.call().row->function;
    note_step(phase, step_name_, function);
    if (before_call) before_call();
    placement_.note_call();
    placement_.set_read_only(true);
    const Stopwatch watch;
    attempt.outcome = chain.run(attempt.placed.call(), context_);
    const Status finished = context_.device->synchronize(context_.stream);
    attempt.seconds = watch.seconds();
    placement_.set_read_only(false);
    if (!finished.ok()) return finished;
    if (rules_.adaptor != nullptr) attempt.adapted = to_record(rules_.adaptor->last());
    note_step(WorkPhase::kInChecks, step_name_, function);
    return {};
}

}  // namespace diopi
