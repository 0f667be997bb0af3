/// diopi report: the results of the last run, from its journal.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "options.hpp"
#include "report/audit_report.hpp"
#include "report_gui.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct ReportOptions {
    CommonOptions common;  ///< --run and the operators
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

int show_report(const ReportOptions& options) {
    if (!options.audit.empty()) return run_audit(options);
    if (options.gui.is_wanted) return show_gui(options.gui, options.common);
    if (Status s = check_report_output(options.output); !s.ok()) return report_error(s.error());
    auto journal = journal_of(options.common);
    if (!journal.ok()) return report_error(journal.error());
    return print_report(std::move(*journal), options.output);
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "report the last run; writes error_report.csv");
    add_operator_options(*command, options->common);
    command->add_option("--run", options->common.run_folder, "folder of the run's journal")->capture_default_str();
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
