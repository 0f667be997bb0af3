/// One call of a step: placed on the device, run and timed.
#pragma once

#include <functional>
#include <string>

#include "call/chain.hpp"
#include "journal/adapted.hpp"
#include "step/placed_call.hpp"
#include "step/step_rules.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

/// A call that ran, with its outcome.
struct Attempt {
    PlacedCall placed;
    Outcome outcome = {};
    double seconds = 0;  ///< until the stream had no work left
    AdaptedCalls adapted = {};
};

/// Makes the attempts of a case's steps, and keeps the worker's crash context up to date.
class AttemptRunner {
 public:
    /// Keeps references to both.
    AttemptRunner(const StepRules& rules, Placement& placement);

    /// Called before every call, outside of its time.
    std::function<void()> before_call;
    /// Called before and after the call of an attempt, but not its repetitions, outside of its time.
    std::function<void(const Attempt&)> before_attempt, after_attempt;

    /// Makes the call of the step's maker; see take_opaque.
    [[nodiscard]] Status take_opaque(Step& step);
    /// Calls from here on belong to this step.
    void start(const Step& step) { step_name_ = step.name; }
    /// The first attempt of a step, with the first poison; only this one goes through the tool `first_run`.
    [[nodiscard]] Result<Attempt> first(const Step& step);
    /// Another attempt, with the second poison.
    [[nodiscard]] Result<Attempt> another(const Step& step);
    /// Repeats the call on the tensors of an attempt, which gets the new outcome and time. A crash is one of `phase`.
    [[nodiscard]] Status repeat(Attempt& attempt, WorkPhase phase = WorkPhase::kInCall);
    /// Frees the tensors that the attempt's call required of the context, but for results.
    void free_required(Attempt& attempt);

 private:
    [[nodiscard]] Result<Attempt> run(const Step& step, Poison poison, const Chain& chain);
    [[nodiscard]] Status call(Attempt& attempt, const Chain& chain, WorkPhase phase);

    const StepRules& rules_;
    Placement& placement_;
    Context& context_;
    Chain first_chain_, chain_;
    std::string step_name_;  ///< name of the current step
};

}  // namespace diopi
