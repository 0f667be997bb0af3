/// Makes the result of a case from the outcome of its worker.
#pragma once

#include <cstdint>
#include <string>

#include "journal/record.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

/// Appends to the case's reason, and to that of the step which it comes from.
void add_to_reason(CaseResult& result, const std::string& text);

/// Names the limit in the reason of a result that failed for want of memory.
void name_memory_limit(CaseResult& result, int64_t limit);

/// The step that a worker was at when it died or hung; empty where it was at none. A stray write may have garbled it.
[[nodiscard]] std::string step_under_way(const CrashContext& context);

/// The answer that the outcome holds as a journal's line, or else `described` as crashed or timed out; with what the
/// library printed.
[[nodiscard]] CaseResult settle(CaseResult described, const WorkOutcome& outcome, int64_t memory_limit);

}  // namespace diopi
