#include "report/run_report.hpp"

#include <fmt/format.h>

#include "report/adaptor_table.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"

namespace diopi {

namespace {

double seconds_of(const Journal& journal) {
    double seconds = 0;
    for (const CaseResult& result : journal.results) seconds += result.seconds;
    return seconds;
}

std::string rules_text(const DeviceConfigFigures& device, const Screen& screen) {
    std::string text = fmt::format("\n{}{}\n", device.file, device.device.empty() ? "" : " (" + device.device + ")");
    text += rules_table(device).render(screen);
    if (device.held == 0) return text;
    return text +
           fmt::format("{} case{} checked with a tolerance of it\n", device.held, device.held == 1 ? " is" : "s are");
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
        text += adapted_text(adapted_functions(results), screen);
    }
    return text + "\n" + summary_line(count(results), figures.seconds) + "\n";
}

std::string journal_report(const Journal& journal, bool is_quiet, const Screen& screen) {
    std::string text = error_report(journal.results) + "\n";
    if (!is_quiet) {
        text += summary_table(journal.results).render(screen);
        text += adapted_text(adapted_functions(journal.results), screen);
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
