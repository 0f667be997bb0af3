#include "conformance/outcome.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "journal/journal.hpp"
#include "worker/memory_limit.hpp"
#include "worker/output_capture.hpp"

namespace diopi {

namespace {

/// Adds the library's own output: standard output is a failure, standard error may explain one.
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

void add_memory_limit(CaseResult& result, int64_t limit) {
    if (limit == 0) return;
    add_to_reason(result, " (limit " + memory_text(limit) + " per worker, --memory-limit)");
}

/// The result of a case whose worker died or hung.
CaseResult interrupted_case(CaseResult described, const WorkOutcome& outcome) {
    CaseResult result = std::move(described);
    result.verdict = outcome.end == WorkOutcome::End::kTimeout ? Verdict::kTimeout : Verdict::kCrashed;
    result.reason = outcome.reason;
    result.step_under_way = step_under_way(outcome.context);
    if (outcome.end == WorkOutcome::End::kOutOfMemory) add_memory_limit(result, outcome.memory_limit);
    return result;
}

}  // namespace

void add_to_reason(CaseResult& result, const std::string& text) {
    for (StepResult& step : result.steps) {
        if (step.verdict == result.verdict && step.reason == result.reason) step.reason += text;
    }
    result.reason += text;
}

void name_memory_limit(CaseResult& result) {
    if (result.kind == FailureKind::kOutOfMemory) add_memory_limit(result, memory_limit());
}

std::string step_under_way(const CrashContext& context) {
    constexpr std::array<std::string_view, 3> kSteps = {"forward", "inplace", "backward"};
    return std::ranges::find(kSteps, context.step) == kSteps.end() ? "" : context.step;
}

CaseResult settle(CaseResult described, const WorkOutcome& outcome) {
    auto answer = outcome.finished() ? from_json_line(outcome.payload) : std::nullopt;
    CaseResult result = answer ? std::move(*answer) : interrupted_case(std::move(described), outcome);
    add_printed(result, outcome);
    return result;
}

}  // namespace diopi
