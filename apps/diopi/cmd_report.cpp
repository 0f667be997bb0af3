/// diopi report: what the last run found, from its journal.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "options.hpp"
#include "report/csv.hpp"
#include "report/error_report.hpp"
#include "report/junit.hpp"
#include "report/summary.hpp"
#include "store/journal.hpp"

namespace diopi {

namespace {

struct ReportOptions {
    std::string run_folder = "diopi_run";
    std::string csv = "error_report.csv";
    std::string junit;
    bool json = false;
    bool quiet = false;
};

double seconds_of(const Journal& journal) {
    double seconds = 0;
    for (const CaseResult& result : journal.results) seconds += result.seconds;
    return seconds;
}

int run_report(const ReportOptions& options) {
    const std::string path = journal_path(options.run_folder);
    if (!std::filesystem::exists(path)) {
        return report_error(
            bad_input("there is no journal at " + path + "; run diopi test first, or name its folder with --run"));
    }
    for (const std::string& file : {options.csv, options.junit}) {
        if (Status s = check_output_file(file); !s.ok()) return report_error(s.error());
    }
    auto journal = read_journal(path);
    if (!journal.ok()) return report_error(journal.error());
    const std::string& repeat = journal->header.repeat;
    if (Status s = write_error_csv(options.csv, journal->results, repeat); !s.ok()) return report_error(s.error());
    if (!options.junit.empty()) {
        if (Status s = write_junit(options.junit, journal->results, repeat); !s.ok()) return report_error(s.error());
    }
    const Counts counts = count(journal->results);
    const double seconds = seconds_of(*journal);
    if (options.json) {
        fmt::print("{}\n",
                   summary_json(journal->results, {journal->header.backend, journal->header.seed, seconds, repeat}));
    } else {
        fmt::print("{}\n", error_report(journal->results));
        if (!options.quiet) summary_table(journal->results).print(stdout);
        fmt::print("\n{}\n", summary_line(counts, seconds, "s of work in its cases"));
        const auto missing = journal->header.cases - static_cast<int64_t>(journal->results.size());
        if (missing > 0)
            fmt::print("{} cases of the run have no result: it was interrupted (diopi test --resume)\n", missing);
        fmt::print("{} written\n", options.csv);
    }
    return static_cast<int>(counts.failures() > 0 ? Exit::kFailures : Exit::kPassed);
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "what the last run found; writes error_report.csv");
    command->add_option("--run", options->run_folder, "folder of the run's journal")->capture_default_str();
    command->add_option("--csv", options->csv, "where the CSV goes")->capture_default_str();
    command->add_option("--junit", options->junit, "also write JUnit XML");
    command->add_flag("--json", options->json, "print JSON on stdout, nothing else");
    command->add_flag("--quiet", options->quiet, "print no table");
    command->footer("Examples:\n  diopi report\n  diopi report --run nightly --junit report.xml\n");
    command->callback([options, &code] { code = run_report(*options); });
}

}  // namespace diopi
