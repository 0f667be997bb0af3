/// Reports of fallback-sim's records: tables, JSON, and the lines in the standard's own format.
#pragma once

#include <string>
#include <string_view>

#include "journal/bisect_record.hpp"
#include "journal/fallback_record.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// The operators that fell back, the time of a step, and the results that change.
[[nodiscard]] std::string fallback_text(const FallbackRecord& record, const Screen& screen);

/// The forced operators and each of their calls.
[[nodiscard]] std::string fallback_seed_lines(const FallbackRecord& record);

/// The faulty functions and calls, and the command that repeats the run with their fallback.
[[nodiscard]] std::string bisect_text(const BisectRecord& record, const std::string& repeat);
[[nodiscard]] std::string bisect_json(const BisectRecord& record);

}  // namespace diopi
