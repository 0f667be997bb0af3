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

/// "1 case is", "3 cases are".
std::string cases_are(int64_t cases) { return fmt::format("{} case{}", cases, cases == 1 ? " is" : "s are"); }

std::string rules_text(const DeviceConfigFigures& device, const Screen& screen) {
    std::string text = fmt::format("{}{}\n", device.file, device.device.empty() ? "" : " (" + device.device + ")");
    text += rules_table(device).render(screen);
    if (device.held == 0) return text;
    return text + fmt::format("{} checked with a tolerance of it\n", cases_are(device.held));
}

/// The parts with an empty line between them; a part may begin with one itself.
std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) {
        const bool needs_gap = !text.empty() && !part.empty() && !part.starts_with('\n');
        text += (needs_gap ? "\n" : "") + part;
    }
    return text;
}

/// What concerns some of the cases only: adaptors, gaps of the library, bad calls, hard cases.
std::string tables_of(const std::vector<CaseResult>& results, const Coverage& coverage, const Screen& screen) {
    return adapted_text(adapted_functions(results), screen) + gaps_text(gaps_of(results), screen) +
           refusals_text(refusals_of(results), screen) + coverage_text(coverage, screen);
}

}  // namespace

double seconds_of(const Journal& journal) {
    double seconds = 0;
    for (const CaseResult& result : journal.results) seconds += result.seconds;
    return seconds;
}

Status write_report_files(const ReportFiles& files, const std::vector<CaseResult>& results, const std::string& repeat) {
    if (Status s = write_error_csv(files.csv, results, repeat); !s.ok()) return s;
    return files.junit.empty() ? Status() : write_junit(files.junit, results, repeat);
}

std::string run_report(const std::vector<CaseResult>& results, const RunFigures& figures, const ReportForm& form,
                       const Screen& screen) {
    std::vector<std::string> parts;
    if (form.is_seed) parts.push_back(error_report(results));
    if (!form.is_quiet) {
        parts.push_back(summary_table(results).render(screen));
        if (!figures.device_config.rules.empty()) parts.push_back(rules_text(figures.device_config, screen));
        if (figures.own_tolerances > 0) {
            parts.push_back(fmt::format("{} checked with atol and rtol of the case instead of the accuracy class\n",
                                        cases_are(figures.own_tolerances)));
        }
        parts.push_back(tables_of(results, coverage_of(results, figures.without_hard_cases), screen));
        if (!form.is_seed) parts.push_back(unrun_report(results, screen));
    }
    if (form.durations > 0) parts.push_back(durations_table(results, form.durations).render(screen));
    if (figures.left_out > 0) {
        parts.push_back(fmt::format("{} did not run: {} (--resume continues)\n", counted(figures.left_out, "case"),
                                    figures.end_reason));
    }
    if (!form.is_seed) parts.push_back(failure_report(results, figures.options));
    parts.push_back(summary_line(count(results), figures.seconds) + "\n");
    return joined(parts);
}

std::string journal_report(const Journal& journal, const ReportForm& form, const Screen& screen) {
    const std::vector<CaseResult>& results = journal.results;
    std::vector<std::string> parts;
    if (form.is_seed) parts.push_back(error_report(results));
    if (!form.is_quiet) {
        parts.push_back(summary_table(results).render(screen));
        parts.push_back(tables_of(results, coverage_of(results), screen));
        if (!form.is_seed) parts.push_back(unrun_report(results, screen));
    }
    if (form.durations > 0) parts.push_back(durations_table(results, form.durations).render(screen));
    if (!form.is_seed) parts.push_back(failure_report(results, journal.header.repeat));
    parts.push_back(summary_line(count(results), seconds_of(journal), "s of work in its cases") + "\n");
    const auto missing = journal.header.cases - static_cast<int64_t>(results.size());
    if (missing > 0) {
        parts.back() +=
            fmt::format("{} cases of the run have no result: it was interrupted (diopi test --resume)\n", missing);
    }
    return joined(parts);
}

std::string journal_json(const Journal& journal) {
    const RunHeader& header = journal.header;
    return summary_json(journal.results, {header.backend, header.seed, seconds_of(journal), header.repeat});
}

}  // namespace diopi
