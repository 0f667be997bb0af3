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

/// Failures, counts of verdicts, the effects of a device configuration and of an adaptor, and the summary line.
/// `is_quiet`: no tables.
[[nodiscard]] std::string run_report(const std::vector<CaseResult>& results, const RunFigures& figures, bool is_quiet,
                                     const Screen& screen);

/// The same for a journal, with the number of cases that have no result.
[[nodiscard]] std::string journal_report(const Journal& journal, bool is_quiet, const Screen& screen);
[[nodiscard]] std::string journal_json(const Journal& journal);

}  // namespace diopi
