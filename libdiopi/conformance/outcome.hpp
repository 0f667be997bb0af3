/// Makes the result of a case from the outcome of its worker.
#pragma once

#include <cstdint>
#include <string>

#include "journal/record.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

/// Appends to the case's reason, and to the reason of the step that gave it.
void add_to_reason(CaseResult& result, const std::string& text);

/// In the worker: names its limit in the reason of a result that failed because memory ran out.
void name_memory_limit(CaseResult& result);

/// The step in which a worker died or hung; empty outside of steps. A stray write may have damaged it.
[[nodiscard]] std::string step_under_way(const CrashContext& context);

/// The result in the outcome's answer, or else `described` as crashed or timed out; with the library's own output.
[[nodiscard]] CaseResult settle(CaseResult described, const WorkOutcome& outcome);

}  // namespace diopi
