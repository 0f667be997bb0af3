/// The output after the cases of a run, or after reading a journal: files and the text of the console.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/journal.hpp"
#include "report/summary.hpp"
#include "report/terminal.hpp"

namespace diopi {

struct ReportFiles {
    std::string csv, junit;  ///< paths; no JUnit file if its path is empty
};

/// `repeat` is appended to each repeat command.
[[nodiscard]] Status write_report_files(const ReportFiles& files, const std::vector<CaseResult>& results,
                                        const std::string& repeat);

/// The form of a report.
struct ReportForm {
    bool is_quiet = false;  ///< no tables
    bool is_seed = false;   ///< the standard's error report stands first, also if nothing failed
    int64_t durations = 0;  ///< the number of slowest cases that are listed
};

/// Counts of verdicts, the effects of a device configuration and of an adaptor, what did not run, failures, and the
/// summary line.
[[nodiscard]] std::string run_report(const std::vector<CaseResult>& results, const RunFigures& figures,
                                     const ReportForm& form, const Screen& screen);

/// Seconds of work in the cases of a run, of all workers together.
[[nodiscard]] double seconds_of(const Journal& journal);

/// The same report for a journal, with the number of cases that have no result.
[[nodiscard]] std::string journal_report(const Journal& journal, const ReportForm& form, const Screen& screen);
[[nodiscard]] std::string journal_json(const Journal& journal);

}  // namespace diopi
