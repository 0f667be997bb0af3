/// The output and the files of diopi report and diopi report merge for a journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "journal/journal.hpp"
#include "journal/kept_report.hpp"
#include "options.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

struct ReportOutput {
    std::string csv = "error_report.csv";
    std::string junit;
    std::string html;
    bool json = false;
    bool quiet = false;
    std::string format = "table";
    int64_t durations = 0;
};

void add_report_output_options(CLI::App& command, ReportOutput& output);

/// Refuses files that cannot be written, before any is written.
[[nodiscard]] Status check_report_output(const ReportOutput& output);

/// Writes CSV, JUnit and HTML, prints the rest, cases in natural order; returns the exit code. `reports` are for the
/// page.
int print_report(Journal journal, const ReportOutput& output, const std::vector<KeptReport>& reports = {});

/// The run at a place; says on stderr what could not be read, and which shards are missing.
[[nodiscard]] Result<Journal> journal_at(const std::string& place);
/// The run of --run, with the cases of the operators alone.
[[nodiscard]] Result<Journal> journal_of(const CommonOptions& options);

/// Whether `place` has a journal: that of diopi test, or those of its shards.
[[nodiscard]] bool has_journal(const std::string& place);
/// Writes the page of all that the places keep, and prints a line per run; returns the exit code.
int write_page_of(const std::vector<std::string>& places, const ReportOutput& output);

/// Adds `merge`, `diff` and `matrix` to the report command.
CLI::App* add_report_merge_command(CLI::App& report, int& code);
CLI::App* add_report_diff_command(CLI::App& report, int& code);
CLI::App* add_report_matrix_command(CLI::App& report, int& code);

}  // namespace diopi
