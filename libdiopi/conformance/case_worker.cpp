#include "conformance/case_worker.hpp"

#include <new>

#include "conformance/outcome.hpp"
#include "journal/journal.hpp"
#include "state/caller_state.hpp"
#include "worker/guard_fault.hpp"
#include "worker/unusable_device.hpp"
#include "worker/worker_setup.hpp"

namespace diopi {

namespace {

/// run_case that turns an exception into a failure: exhausted memory, or a library that throws through C.
CaseResult run_safely(const Case& c, const CaseOptions& options) {
    std::string reason;
    try {
        return run_case(c, options);
    } catch (const std::bad_alloc&) {
        reason = "out of memory; try --jobs 1";
    } catch (const std::exception& e) {
        reason = std::string("the call threw an exception: ") + e.what();
    }
    CaseResult result = describe(c);
    Failure failure = failure_of(failed(std::move(reason)));
    result.verdict = Verdict::kFailed;
    result.kind = failure.kind;
    result.reason = std::move(failure.reason);
    return result;
}

}  // namespace

void CaseWorker::prepare() {
    set_up_worker();
    CallerState::keep_descriptors();
    if (options_.cases.checks.guard != Guard::kNone) install_guard_fault_handler();
    baselines_.emplace(options_.data, options_.cases.seed);
    options_.cases.baseline = [this](const Case& c) { return baselines_->find(c); };
}

WorkAnswer CaseWorker::work(const Case& c, size_t most_kept) {
    trim_worker(most_kept);
    if (!baselines_) prepare();
    CaseOptions cases = options_.cases;
    FailureSaver saver(options_.save, c, cases);
    if (!options_.save.folder.empty()) {
        cases.on_failure = [&](const Case&, const FailedStep& failed_step) { saver.save(failed_step); };
    }
    const CallerState state = CallerState::now();
    CaseResult result = run_safely(c, cases);
    const bool is_as_before = CallerState::now().changes_since(state).empty() || state.restore();
    if (options_.after_case) result.notes = options_.after_case(c);
    saver.name_files(result);
    WorkAnswer answer = answer_of(std::move(result));
    answer.warnings = saver.warnings();
    answer.last = answer.last || !is_as_before;
    return answer;
}

WorkAnswer CaseWorker::save(const Case& c, const Unsaved& unsaved) {
    if (!baselines_) prepare();
    FailureSaver saver(options_.save, c, options_.cases);
    saver.save(unsaved);
    WorkAnswer answer{saver.files()};
    answer.warnings = saver.warnings();
    return answer;
}

/// A device that stays in error is unusable for other cases.
WorkAnswer CaseWorker::answer_of(CaseResult result) const {
    name_memory_limit(result);
    const bool unusable = result.verdict == Verdict::kFailed && is_unusable(options_.cases.backend->device());
    if (unusable) add_to_reason(result, kStayedInError);
    return {to_json_line(result), unusable};
}

CaseResult CaseWorker::result_of(const Case& c, const WorkOutcome& outcome) const {
    CaseResult result = settle(describe(c), outcome);
    if (!c.bad || !is_failure(result.verdict)) return result;
    if (result.verdict == Verdict::kCrashed) result.kind = FailureKind::kCrashed;
    if (result.verdict == Verdict::kTimeout) result.kind = FailureKind::kNoAnswer;
    const std::string what = c.bad->text() + ": ";
    for (StepResult& step : result.steps) {
        if (!is_failure(step.verdict)) continue;
        if (!c.bad->must_fail) step.verdict = Verdict::kAdvice;
        step.reason = what + step.reason;
    }
    if (!c.bad->must_fail) result.verdict = Verdict::kAdvice;
    result.reason = what + result.reason;
    return result;
}

}  // namespace diopi
