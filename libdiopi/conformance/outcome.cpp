#include "conformance/outcome.hpp"

#include <string_view>

#include "journal/journal.hpp"
#include "worker/memory_limit.hpp"
#include "worker/output_capture.hpp"

namespace diopi {

namespace {

/// What the library printed beside its results: output is a failure, errors may explain one.
void add_printed(CaseResult& result, const WorkOutcome& outcome) {
    const bool bad = result.verdict == Verdict::kFailed || result.verdict == Verdict::kCrashed ||
                     result.verdict == Verdict::kTimeout;
    if (!outcome.printed.empty()) {
        if (!bad) {
            result.verdict = Verdict::kFailed;
            result.kind = FailureKind::kPrinted;
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

void add_to_reason(CaseResult& result, const std::string& text) {
    for (StepResult& step : result.steps) {
        if (step.verdict == result.verdict && step.reason == result.reason) step.reason += text;
    }
    result.reason += text;
}

void name_memory_limit(CaseResult& result, int64_t limit) {
    if (limit == 0 || !tells_out_of_memory(result.reason)) return;
    add_to_reason(result, " (limit " + memory_text(limit) + " per worker, --memory-limit)");
}

CaseResult settle(CaseResult described, const WorkOutcome& outcome, int64_t memory_limit) {
    CaseResult result = std::move(described);
    auto answer = from_json_line(std::string_view(outcome.payload).substr(0, outcome.payload.find('\n')));
    if (outcome.end == WorkOutcome::End::kFinished && answer) {
        result = std::move(*answer);
    } else {
        result.verdict = outcome.end == WorkOutcome::End::kTimeout ? Verdict::kTimeout : Verdict::kCrashed;
        result.reason = outcome.reason;
        name_memory_limit(result, memory_limit);
    }
    add_printed(result, outcome);
    return result;
}

}  // namespace diopi
