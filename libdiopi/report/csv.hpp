/// error_report.csv: one row per call that did not pass, by RFC 4180.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "journal/record.hpp"

namespace diopi {

/// A CSV field: in quotes when it holds a comma, a quote or a line break.
[[nodiscard]] std::string csv_field(std::string_view text);

/// Fields joined to a row that ends in CR LF.
[[nodiscard]] std::string csv_row(const std::vector<std::string>& fields);

/// The header row, then one row per call that did not pass. docs/reports.md explains the columns.
/// `options` is appended to each repeat command: "--impl ./libdiopi_impl.so --seed 7".
[[nodiscard]] std::string error_csv(const std::vector<CaseResult>& results, const std::string& options);

/// Writes error_csv to `path` in one step, also when nothing failed.
Status write_error_csv(const std::string& path, const std::vector<CaseResult>& results, const std::string& options);

}  // namespace diopi
