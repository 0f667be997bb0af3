/// A call works in the order of the context's stream and does not wait for it.
#include "step/checks/list.hpp"
#include "step/stream_check.hpp"
#include "worker/crash_context.hpp"

namespace diopi {

namespace {

/// The durations for which the stream is held: one run after the other while each call returns in the last part of it.
/// Calls that are long without a hold are not checked.
constexpr double kHolds_s[] = {0.02, 0.06, 0.18};
constexpr double kWaited = 0.7;
constexpr double kLongCall_s = 0.05;
constexpr const char* kBehind = " behind other work of its stream: ";
constexpr const char* kElsewhere =
    " worked on a stream that is not the context's, or on the host: behind other work of its stream, ";

class StreamOrderCheck final : public StepCheck {
 public:
    explicit StreamOrderCheck(const CheckSetup& setup)
        : StepCheck(setup), held_runs_(*setup.rules.backend, setup.placement) {}

    /// A call that waits for its stream takes longer when the stream is held longer; no other delay grows with it.
    void judge(StepUnderTest& test, Findings& findings) override {
        if (findings.has_failed() || !is_checked(test)) return;
        const std::string function(test.step.call.row->function);
        note_step(WorkPhase::kInHeldCall, test.step.name, function);
        for (const double hold_s : kHolds_s) {
            setup_.context().release();
            auto held = held_runs_.run(test.step, hold_s);
            if (!held.ok()) return findings.fail(behind(function + kBehind, held.error()));
            if (!*held) return;
            if (Failure wrong = differs_when_held(test, **held); !wrong.ok()) {
                return findings.fail({FailureKind::kStream, function + kElsewhere + wrong.reason});
            }
            if ((*held)->held_s < hold_s / 2 || (*held)->call_s < kWaited * (*held)->held_s) return;
        }
        findings.fail({FailureKind::kStream, function + " waited for the stream inside the call"});
    }

 private:
    /// A function that makes tensors must know their sizes, and tools around the call may wait for the tensors they
    /// inspect.
    [[nodiscard]] bool is_checked(const StepUnderTest& test) const {
        const bool has_tools = !setup_.rules.interceptors.empty() || setup_.rules.adaptor != nullptr;
        return !test.step.call.row->makes_results() && !has_tools && test.first->seconds <= kLongCall_s;
    }

    /// The differences in a run whose inputs were copied, and whose outputs were read, in the order of the stream
    /// alone.
    Failure differs_when_held(StepUnderTest& test, HeldRun& held) {
        if (!held.outcome.ok()) return {FailureKind::kStream, held.outcome.message};
        if (test.step.call.row->repeat == Repeat::varying) return first_wrong(test, test.expected, held.placed);
        for (const OutputSpec& output : test.step.results()) {
            Failure differs = difference(test, output.place(), test.first->placed, held.placed, false);
            if (!differs.ok()) return differs;
        }
        return {};
    }

    StreamCheck held_runs_;
};

}  // namespace

std::unique_ptr<StepCheck> step_check::stream(const CheckSetup& setup) {
    return setup.rules.checks.stream ? std::make_unique<StreamOrderCheck>(setup) : nullptr;
}

}  // namespace diopi
