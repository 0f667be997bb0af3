/// What is left behind when the cases of a run are done, or their journal is read: files and the text of the console.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/journal.hpp"
#include "report/summary.hpp"
#include "report/terminal.hpp"

namespace diopi {

struct ReportFiles {
    std::string csv, junit;  ///< paths; an empty one of JUnit: no such file
};

/// `repeat` is appended to each repeat command.
[[nodiscard]] Status write_report_files(const ReportFiles& files, const std::vector<CaseResult>& results,
                                        const std::string& repeat);

/// Failures, then how many cases ended how, what a device configuration and an adaptor did, and the summary line.
/// `is_quiet`: no tables.
[[nodiscard]] std::string run_report(const std::vector<CaseResult>& results, const RunFigures& figures, bool is_quiet,
                                     const Screen& screen);

/// The same of a journal, and how many cases of its run have no result.
[[nodiscard]] std::string journal_report(const Journal& journal, bool is_quiet, const Screen& screen);
[[nodiscard]] std::string journal_json(const Journal& journal);

}  // namespace diopi
