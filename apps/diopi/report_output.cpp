#include "report_output.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "journal/case_order.hpp"
#include "options.hpp"
#include "report/run_report.hpp"

namespace diopi {

void add_report_output_options(CLI::App& command, ReportOutput& output) {
    command.add_option("--csv", output.csv, "path of the CSV")->capture_default_str();
    command.add_option("--junit", output.junit, "also write JUnit XML");
    command.add_flag("--json", output.json, "print JSON on stdout, nothing else");
    command.add_flag("-q,--quiet", output.quiet, "print no table");
    add_form_options(command, output.format, output.durations);
}

Status check_report_output(const ReportOutput& output) {
    for (const std::string& file : {output.csv, output.junit}) {
        if (Status s = check_output_file(file); !s.ok()) return s;
    }
    return {};
}

int print_report(Journal journal, const ReportOutput& output) {
    sort_by_case(journal.results);
    Status s = write_report_files({output.csv, output.junit}, journal.results, journal.header.repeat);
    if (!s.ok()) return report_error(s.error());
    if (output.json) {
        fmt::print("{}\n", journal_json(journal));
    } else {
        const ReportForm form{output.quiet, output.format == "seed", output.durations};
        fmt::print("{}{} written\n", journal_report(journal, form, screen_of(stdout)), output.csv);
    }
    return static_cast<int>(count(journal.results).failures() > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace diopi
