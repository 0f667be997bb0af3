/// Runs one step of a case on a backend with every check around the call, and judges what it left.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/backend.hpp"
#include "call/chain.hpp"
#include "check/compare.hpp"
#include "journal/record.hpp"
#include "step/adapted_step.hpp"
#include "step/checks.hpp"
#include "step/placed_call.hpp"
#include "step/steps.hpp"
#include "step/stream_check.hpp"

namespace diopi {

/// What a failed step leaves to show: `actual` holds host tensors at the positions of `expected`.
struct Evidence {
    const Step& step;
    const std::vector<ArgTensor>& expected;
    const std::vector<ArgTensor>& actual;
    const StepResult& result;
};

/// What a step is held to.
struct StepRules {
    const Backend* backend = nullptr;
    Checks checks;
    Tolerance tolerance;
    bool random = false;  ///< a distribution is tested
    bool legacy = false;  ///< isclose with a mismatch ratio instead of the accuracy classes
    bool exact = false;   ///< all inputs are whole numbers whose sums of products are exact
    /// Converts for the backend, outside of the tools; null: none.
    Adaptor* adaptor = nullptr;
    /// Tools around the call, the first one outermost.
    std::vector<Interceptor*> interceptors = {};
    /// A tool that sees the first run of each step alone, outside of the others; null: none.
    Interceptor* first_run = nullptr;
    /// Sees every failed step that ran.
    std::function<void(const Evidence&)> on_failure = {};
};

/// Calls use(placement) with a stream and a context of its own on the backend's device, guarded as the checks ask for.
Status with_placement(const StepRules& rules, LayoutRule layout, const std::function<void(Placement&)>& use);

/// Not implemented, or failed, as the error says; `result` keeps its first failure.
void refuse_step(StepResult& result, const Error& error);

class StepRun {
 public:
    /// All of one case: `expectations` answers for its steps, `placement` holds its tensors.
    StepRun(const StepRules& rules, Expectations& expectations, Placement& placement);

    /// Runs and judges, or refuses what the backend lacks; `result` comes with its names and gets verdict, reason,
    /// deviations and time.
    void run(const Step& step, StepResult& result);

 private:
    /// One call and what became of it.
    struct Trial {
        PlacedCall placed;
        Outcome outcome;
        double seconds = 0;
        AdaptedCalls adapted = {};
        int64_t held_before = 0;  ///< bytes of the device's memory that the process held when the call began
    };
    /// What the step is held to: itself, or as the adaptor has it computed.
    [[nodiscard]] Result<const Step*> judged_for(const Step& step);
    [[nodiscard]] Result<Trial> attempt(const Step& step, Poison poison, const Chain& chain);
    [[nodiscard]] Status call(Trial& trial, const Chain& chain);
    /// Bytes that the process holds more than before the call, once the context has given back its own.
    [[nodiscard]] int64_t bytes_kept(const Trial& trial);
    void judge(const Step& step, const std::vector<ArgTensor>& expected, StepResult& result);
    void judge_integrity(Trial& trial, StepResult& result);
    /// What the call left at an argument, a host tensor, in the dtype that it is held to.
    [[nodiscard]] Result<TensorPtr> as_judged(const Step& step, const TensorPtr& actual, size_t arg) const;
    void judge_pair(const Step& step, const std::vector<ArgTensor>& expected, Trial& first, StepResult& result);
    [[nodiscard]] Failure wrong_in_second(const Step& step, const std::vector<ArgTensor>& expected, Trial& second);
    void judge_random(const Step& step, Trial& first, Trial& second, StepResult& result);
    void judge_stream(const Step& step, const std::vector<ArgTensor>& expected, Trial& first, StepResult& result);
    [[nodiscard]] Failure differs_when_held(const Step& step, const std::vector<ArgTensor>& expected, Trial& first,
                                            HeldRun& held);
    void judge_leak(const Step& step, Trial& trial, int64_t kept, StepResult& result);
    void compare_pair(const Step& step, Trial& first, Trial& second, StepResult& result);
    void compare_one(const Step& step, const Tensor& actual, const ArgTensor& value, StepResult& result);
    [[nodiscard]] Bound bound_for(const Step& step, const OutputSpec& output) const;
    [[nodiscard]] Comparison compare_with_sums(const Step& step, const Tensor& actual, const ArgTensor& value,
                                               const OutputSpec& output);
    [[nodiscard]] Device& device() const { return *context_->device; }

    const StepRules& rules_;
    Expectations& expectations_;
    Placement& placement_;
    Context* context_;
    Chain first_chain_, chain_;  ///< of a step's first run, and of the others
    /// Of all steps so far: the oracle knows tensors by their addresses.
    std::vector<std::unique_ptr<Step>> computed_;
    const Step* judged_ = nullptr;  ///< what the step under way is held to
    StreamCheck stream_check_;
    std::vector<ArgTensor> actual_;
    Failure wrong_in_second_;   ///< alone
    std::string call_context_;  ///< the crash context during the call
};

}  // namespace diopi
