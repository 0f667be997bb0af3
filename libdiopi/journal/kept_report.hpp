/// The reports that profile, compare and fallback-sim keep in the run's folder, beside the journal of test, for the
/// page and the window of diopi report.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "json/json_text.hpp"

namespace diopi {

/// The kinds of reports; a folder has one of each at most, in KIND.json.
inline constexpr std::array<std::string_view, 4> kKeptKinds = {"profile", "compare", "fallback", "bisect"};

struct KeptReport {
    std::string kind;
    std::vector<std::string> command;  ///< argv
    std::string written;               ///< ISO 8601 with offset
    std::string environment;           ///< machine_text() of the run
    std::shared_ptr<const Json> report;
};

/// Writes the file in one step, in place of an older one. `report` is JSON, as --json prints it; `about` says the rest,
/// and keep_report() the time.
Status keep_report(const std::string& folder, const KeptReport& about, std::string_view report);

/// Whether a place is the file of one report, by its name: a folder may end in .json, too.
[[nodiscard]] bool names_kept_report(const std::string& place);

/// Where the reports of a place may be: a file for each kind in a folder, or `place` itself if it names a report.
[[nodiscard]] std::vector<std::string> kept_report_paths(const std::string& place);

/// Whether a folder has such a file; none is read.
[[nodiscard]] bool has_kept_report(const std::string& folder);

/// The reports in a run's folder, or the one in a file; none if the folder has none. A damaged file is bad input.
[[nodiscard]] Result<std::vector<KeptReport>> kept_reports_at(const std::string& place);

}  // namespace diopi
