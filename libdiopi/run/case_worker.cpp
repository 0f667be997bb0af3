#include "run/case_worker.hpp"

#include <malloc.h>
#include <omp.h>

#include <new>

#include "run/guard_fault.hpp"
#include "run/memory_limit.hpp"
#include "run/output_capture.hpp"
#include "store/journal.hpp"

namespace diopi {

namespace {

/// Freed memory stays with the worker: without this every large tensor is fetched from the kernel page by page.
void keep_freed_memory() {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
}

/// run_case, with what an exception says as the failure: memory that ran out, or a library that throws through C.
CaseResult run_safely(const Case& c, const CaseOptions& options) {
    std::string reason;
    try {
        return run_case(c, options);
    } catch (const std::bad_alloc&) {
        reason = "out of memory; try --jobs 1";
    } catch (const std::exception& e) {
        reason = std::string("an exception came out of the call: ") + e.what();
    }
    CaseResult result = describe(c);
    result.verdict = Verdict::kFailed;
    result.reason = std::move(reason);
    return result;
}

/// Appends to the case's reason, and to that of the step which it comes from.
void add_to_reason(CaseResult& result, const std::string& text) {
    for (StepResult& step : result.steps) {
        if (step.verdict == result.verdict && step.reason == result.reason) step.reason += text;
    }
    result.reason += text;
}

/// Names the limit where memory ran out.
void name_memory_limit(CaseResult& result, int64_t limit) {
    if (limit == 0 || result.reason.find("out of memory") == std::string::npos) return;
    add_to_reason(result, " (limit " + memory_text(limit) + " per worker, --memory-limit)");
}

/// What the library printed beside its results: output is a failure, errors may explain one.
void add_printed(CaseResult& result, const WorkOutcome& outcome) {
    const bool bad = result.verdict == Verdict::kFailed || result.verdict == Verdict::kCrashed ||
                     result.verdict == Verdict::kTimeout;
    if (!outcome.printed.empty()) {
        if (!bad) {
            result.verdict = Verdict::kFailed;
            result.reason = outcome.printed;
        } else {
            add_to_reason(result, "; " + outcome.printed);
        }
    }
    if (result.verdict == Verdict::kFailed || result.verdict == Verdict::kCrashed) {
        const std::string line = last_line(outcome.errors);
        if (!line.empty()) add_to_reason(result, "; stderr: " + line);
    }
}

}  // namespace

void CaseWorker::prepare() {
    keep_freed_memory();
    omp_set_num_threads(1);
    if (options_.cases.checks.guard == Guard::kPages) install_guard_fault_handler();
    baselines_.emplace(options_.data, options_.cases.seed);
    options_.cases.baseline = [this](const Case& c) { return baselines_->find(c); };
}

WorkAnswer CaseWorker::work(const Case& c) {
    if (!baselines_) prepare();
    CaseResult result = run_safely(c, options_.cases);
    if (options_.after_case) result.notes = options_.after_case(c);
    return answer_of(std::move(result));
}

/// A device that stays in error is fit for no other case.
WorkAnswer CaseWorker::answer_of(CaseResult result) const {
    name_memory_limit(result, options_.memory_limit);
    const bool sick = result.verdict == Verdict::kFailed && !check_health(options_.cases.backend->device()).ok();
    if (sick) add_to_reason(result, "; the device stayed in error, its worker was replaced");
    return {to_json_line(result), sick};
}

CaseResult CaseWorker::result_of(const Case& c, const WorkOutcome& outcome) const {
    CaseResult result = describe(c);
    auto answer = from_json_line(outcome.payload);
    if (outcome.end == WorkOutcome::End::kFinished && answer) {
        result = std::move(*answer);
    } else {
        result.verdict = outcome.end == WorkOutcome::End::kTimeout ? Verdict::kTimeout : Verdict::kCrashed;
        result.reason = outcome.reason;
        name_memory_limit(result, options_.memory_limit);
    }
    add_printed(result, outcome);
    return result;
}

}  // namespace diopi
