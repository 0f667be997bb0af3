#include "report_output.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>

#include "core/suggest.hpp"
#include "journal/case_order.hpp"
#include "journal/merge.hpp"
#include "report/html_page.hpp"
#include "report/run_report.hpp"

namespace diopi {

namespace {

namespace fs = std::filesystem;

/// Leaves the cases of the operators; an operator that the run does not have is refused.
Status keep_operators(const CommonOptions& options, Journal& journal) {
    auto operators = operators_of(options);
    if (!operators.ok()) return operators.status();
    std::vector<std::string> known;
    for (const CaseResult& result : journal.results) known.push_back(result.op);
    if (const std::string* item = operators->unmatched(known)) {
        return bad_input(fmt::format("the run has no case of '{}'{}", *item, did_you_mean(*item, known)));
    }
    journal.header.cases -= static_cast<int64_t>(
        std::erase_if(journal.results, [&](const CaseResult& result) { return !operators->matches(result.op); }));
    return {};
}

/// Adds what a place keeps: its journal, reports of other commands, or both.
Status add_runs_at(const std::string& place, HtmlPage& page) {
    if (!fs::exists(place)) return bad_input("there is nothing at " + place + "; name a run's folder with --run");
    if (has_journal(place)) {
        auto journal = journal_at(place);
        if (!journal.ok()) return journal.status();
        page.add(*journal);
        if (!fs::is_directory(place)) return {};
    }
    const auto reports = kept_reports_at(place);
    return reports.ok() ? page.add(*reports) : reports.status();
}

}  // namespace

void add_report_output_options(CLI::App& command, ReportOutput& output) {
    command.add_option("--csv", output.csv, "path of the CSV")->capture_default_str();
    command.add_option("--junit", output.junit, "also write JUnit XML");
    command.add_option("--html", output.html, "also write one page for a browser, which needs no network")
        ->type_name("FILE");
    command.add_flag("--json", output.json, "print JSON on stdout, nothing else");
    command.add_flag("-q,--quiet", output.quiet, "print no table");
    add_form_options(command, output.format, output.durations);
}

Status check_report_output(const ReportOutput& output) {
    for (const std::string& file : {output.csv, output.junit, output.html}) {
        if (Status s = check_output_file(file); !s.ok()) return s;
    }
    return {};
}

Result<Journal> journal_at(const std::string& place) {
    auto run = read_run(place);
    if (!run.ok()) return run.error();
    for (const std::string& note : run->notes) fmt::print(stderr, "diopi: {}\n", note);
    for (const std::string& gap : run->gaps) fmt::print(stderr, "diopi: {}: {}\n", place, gap);
    return std::move(run->journal);
}

Result<Journal> journal_of(const CommonOptions& options) {
    const std::string& place = options.run_folder;
    if (!fs::exists(place)) {
        return bad_input("there is no journal at " + journal_path(place) +
                         "; run diopi test first, or name its folder with --run");
    }
    auto journal = journal_at(place);
    if (!journal.ok()) return journal.error();
    if (Status s = keep_operators(options, *journal); !s.ok()) return s.error();
    return journal;
}

bool has_journal(const std::string& place) {
    if (!fs::is_directory(place)) return !place.ends_with(".json");
    return fs::exists(journal_path(place)) || !has_kept_report(place);
}

int write_page_of(const std::vector<std::string>& places, const ReportOutput& output) {
    HtmlPage page;
    for (const std::string& place : places) {
        if (Status s = add_runs_at(place, page); !s.ok()) return report_error(s.error());
    }
    if (Status s = page.write(output.html); !s.ok()) return report_error(s.error());
    for (const std::string& line : page.lines()) {
        if (!output.quiet) fmt::print("{}\n", line);
    }
    fmt::print("{} written\n", output.html);
    return static_cast<int>(page.has_failures() ? Exit::kFailures : Exit::kPassed);
}

int print_report(Journal journal, const ReportOutput& output, const std::vector<KeptReport>& reports) {
    sort_by_case(journal.results);
    Status s = write_report_files({output.csv, output.junit}, journal.results, journal.header.repeat);
    if (s.ok() && !output.html.empty()) {
        HtmlPage page;
        page.add(journal);
        s = page.add(reports);
        if (s.ok()) s = page.write(output.html);
    }
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
