/// The difference between two runs as text and as JSON.
#pragma once

#include <string>

#include "json/json_text.hpp"
#include "report/run_diff.hpp"
#include "report/terminal.hpp"

namespace diopi {

/// Tables of what changed, and a summary line; `is_quiet`: the summary line alone.
[[nodiscard]] std::string run_diff_text(const RunDiff& diff, bool is_quiet, const Screen& screen);

/// A line: how many cases changed, by kind.
[[nodiscard]] std::string run_diff_summary(const RunDiff& diff);

/// Everything, each case by its id. docs/reports.md explains the keys.
[[nodiscard]] Json run_diff_data(const RunDiff& diff);
[[nodiscard]] std::string run_diff_json(const RunDiff& diff);

}  // namespace diopi
