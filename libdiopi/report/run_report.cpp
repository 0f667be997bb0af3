#include "report/run_report.hpp"

#include <fmt/format.h>

#include "report/adaptor_table.hpp"
#include "report/coverage.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/gaps.hpp"
#include "report/junit.hpp"
#include "report/refusals.hpp"

namespace diopi {

namespace {

double seconds_of(const Journal& journal) {
    double seconds = 0;
    for (const CaseResult& result : journal.results) seconds += result.seconds;
    return seconds;
}

/// "1 case is", "3 cases are".
std::string cases_are(int64_t cases) { return fmt::format("{} case{}", cases, cases == 1 ? " is" : "s are"); }

std::string rules_text(const DeviceConfigFigures& device, const Screen& screen) {
    std::string text = fmt::format("\n{}{}\n", device.file, device.device.empty() ? "" : " (" + device.device + ")");
    text += rules_table(device).render(screen);
    if (device.held == 0) return text;
    return text + fmt::format("{} checked with a tolerance of it\n", cases_are(device.held));
}

}  // namespace

Status write_report_files(const ReportFiles& files, const std::vector<CaseResult>& results, const std::string& repeat) {
    if (Status s = write_error_csv(files.csv, results, repeat); !s.ok()) return s;
    return files.junit.empty() ? Status() : write_junit(files.junit, results, repeat);
}

std::string run_report(const std::vector<CaseResult>& results, const RunFigures& figures, bool is_quiet,
                       const Screen& screen) {
    std::string text = error_report(results);
    if (!is_quiet) {
        text += "\n" + summary_table(results).render(screen);
        if (!figures.device_config.rules.empty()) text += rules_text(figures.device_config, screen);
        if (figures.own_tolerances > 0) {
            text += fmt::format("\n{} checked with atol and rtol of the case instead of the accuracy class\n",
                                cases_are(figures.own_tolerances));
        }
        text += adapted_text(adapted_functions(results), screen);
        text += gaps_text(gaps_of(results), screen);
        text += refusals_text(refusals_of(results), screen);
        text += coverage_text(coverage_of(results, figures.without_hard_cases), screen);
    }
    if (figures.left_out > 0) {
        text += fmt::format("\n{} did not run: the time of --budget was over (--resume continues)\n",
                            counted(figures.left_out, "case"));
    }
    return text + "\n" + summary_line(count(results), figures.seconds) + "\n";
}

std::string journal_report(const Journal& journal, bool is_quiet, const Screen& screen) {
    std::string text = error_report(journal.results) + "\n";
    if (!is_quiet) {
        text += summary_table(journal.results).render(screen);
        text += adapted_text(adapted_functions(journal.results), screen);
        text += gaps_text(gaps_of(journal.results), screen);
        text += refusals_text(refusals_of(journal.results), screen);
        text += coverage_text(coverage_of(journal.results), screen);
    }
    text += fmt::format("\n{}\n", summary_line(count(journal.results), seconds_of(journal), "s of work in its cases"));
    const auto missing = journal.header.cases - static_cast<int64_t>(journal.results.size());
    if (missing <= 0) return text;
    return text +
           fmt::format("{} cases of the run have no result: it was interrupted (diopi test --resume)\n", missing);
}

std::string journal_json(const Journal& journal) {
    const RunHeader& header = journal.header;
    return summary_json(journal.results, {header.backend, header.seed, seconds_of(journal), header.repeat});
}

}  // namespace diopi
