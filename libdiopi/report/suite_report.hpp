/// The report of the runtime suite's checks.
#pragma once

#include <string>
#include <vector>

#include "journal/record.hpp"
#include "report/console.hpp"
#include "report/summary.hpp"

namespace diopi {

/// "Run runtime.streams succeed: ..."; after a failure the command that repeats it, with `options` appended.
[[nodiscard]] LogMessage message_of_check(const CaseResult& result, const std::string& options);

/// summary_json with the measurements of each check.
[[nodiscard]] std::string suite_json(const std::vector<CaseResult>& results, const RunFigures& figures);

}  // namespace diopi
