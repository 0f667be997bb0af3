/// diopi report: the results of the last run, from its journal.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "options.hpp"
#include "report/audit_report.hpp"
#include "report_gui.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct ReportOptions {
    CommonOptions common;           ///< the operators
    std::vector<std::string> runs;  ///< --run
    ReportOutput output;
    std::string audit;  ///< --audit
    GuiOptions gui;
};

/// --audit: reports the contents of a library without loading it. Exit code: 0 if --impl can use the library as it is,
/// 1 if not, 2 if it is no ELF file.
int run_audit(const ReportOptions& options) {
    const auto audit = audit_library(options.audit);
    if (!audit.ok()) return report_error(audit.error());
    if (options.output.json) {
        fmt::print("{}\n", audit_json(*audit));
    } else {
        fmt::print("{}", audit_report(*audit, options.output.quiet, screen_of(stdout)));
    }
    return static_cast<int>(audit->is_usable() ? Exit::kPassed : Exit::kFailures);
}

/// Refuses several runs for reports that are of one.
Status check_runs(const ReportOptions& options) {
    if (options.runs.size() <= 1) return {};
    const ReportOutput& output = options.output;
    if (output.html.empty() || options.gui.is_wanted) {
        return bad_input("several --run make one page: add --html FILE; window and terminal show one run");
    }
    if (!output.json && output.junit.empty() && !selects_cases(options.common)) return {};
    return bad_input("--json, --junit and operators need a single --run; several make one page alone");
}

int show_report(const ReportOptions& options) {
    if (!options.audit.empty()) return run_audit(options);
    if (Status s = check_runs(options); !s.ok()) return report_error(s.error());
    const std::string& place = options.runs.front();
    CommonOptions common = options.common;
    common.run_folder = place;
    if (options.gui.is_wanted) return show_gui(options.gui, common);
    if (Status s = check_report_output(options.output); !s.ok()) return report_error(s.error());
    if (!options.output.html.empty() && (options.runs.size() > 1 || !has_journal(place))) {
        return write_page_of(options.runs, options.output);
    }
    auto journal = journal_of(common);
    if (!journal.ok()) return report_error(journal.error());
    std::vector<KeptReport> reports;
    if (!options.output.html.empty() && !selects_cases(common) && std::filesystem::is_directory(place)) {
        auto kept = kept_reports_at(place);
        if (!kept.ok()) return report_error(kept.error());
        reports = std::move(*kept);
    }
    return print_report(std::move(*journal), options.output, reports);
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "report the last run; writes error_report.csv");
    add_operator_options(*command, options->common);
    options->runs = {options->common.run_folder};
    command->add_option("--run", options->runs, "a run's folder; several for --html")
        ->type_name("RUN")
        ->allow_extra_args(false)
        ->default_str(options->common.run_folder);
    add_report_output_options(*command, options->output);
    add_gui_options(*command, options->gui);
    command->add_option("--audit", options->audit, "list what a vendor's library has and lacks (docs/plugins.md)")
        ->type_name("PATH")
        ->excludes(command->get_option("--run"));
    command->footer(
        "Examples:\n"
        "  diopi report\n"
        "  diopi report add 'conv*'\n"
        "  diopi report --run nightly --junit report.xml\n"
        "  diopi report --html nightly.html --run nightly --run nightly_profile\n"
        "  diopi report --gui --run nightly\n"
        "  diopi report --audit ./libdiopi_impl.so\n"
        "  diopi report matrix --format markdown\n"
        "  diopi report diff last_week nightly\n"
        "  diopi report merge nightly/shard_* --into nightly/whole\n");
    add_report_merge_command(*command, code);
    add_report_diff_command(*command, code);
    add_report_matrix_command(*command, code);
    command->callback([options, command, &code] {
        if (command->get_subcommands().empty()) code = show_report(*options);
    });
}

}  // namespace diopi
