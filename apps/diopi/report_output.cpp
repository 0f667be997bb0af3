#include "report_output.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "journal/case_order.hpp"
#include "options.hpp"
#include "report/adaptor_table.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"
#include "report/summary.hpp"
#include "target.hpp"

namespace diopi {

namespace {

double seconds_of(const Journal& journal) {
    double seconds = 0;
    for (const CaseResult& result : journal.results) seconds += result.seconds;
    return seconds;
}

}  // namespace

void add_report_output_options(CLI::App& command, ReportOutput& output) {
    command.add_option("--csv", output.csv, "where the CSV goes")->capture_default_str();
    command.add_option("--junit", output.junit, "also write JUnit XML");
    command.add_flag("--json", output.json, "print JSON on stdout, nothing else");
    command.add_flag("--quiet", output.quiet, "print no table");
}

Status check_report_output(const ReportOutput& output) {
    for (const std::string& file : {output.csv, output.junit}) {
        if (Status s = check_output_file(file); !s.ok()) return s;
    }
    return {};
}

int print_report(Journal journal, const ReportOutput& output) {
    sort_by_case(journal.results);
    const std::string& repeat = journal.header.repeat;
    if (Status s = write_error_csv(output.csv, journal.results, repeat); !s.ok()) return report_error(s.error());
    if (!output.junit.empty()) {
        if (Status s = write_junit(output.junit, journal.results, repeat); !s.ok()) return report_error(s.error());
    }
    const Counts counts = count(journal.results);
    const double seconds = seconds_of(journal);
    if (output.json) {
        fmt::print("{}\n",
                   summary_json(journal.results, {journal.header.backend, journal.header.seed, seconds, repeat}));
    } else {
        fmt::print("{}\n", error_report(journal.results));
        if (!output.quiet) summary_table(journal.results).print(stdout);
        if (!output.quiet) print_adapted(adapted_functions(journal.results));
        fmt::print("\n{}\n", summary_line(counts, seconds, "s of work in its cases"));
        const auto missing = journal.header.cases - static_cast<int64_t>(journal.results.size());
        if (missing > 0)
            fmt::print("{} cases of the run have no result: it was interrupted (diopi test --resume)\n", missing);
        fmt::print("{} written\n", output.csv);
    }
    return static_cast<int>(counts.failures() > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace diopi
