/// diopi report: what the last run found, from its journal.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "audit_command.hpp"
#include "commands.hpp"
#include "options.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct ReportOptions {
    std::string run_folder = "diopi_run";
    ReportOutput output;
    std::string audit;  ///< --audit
};

int run_report(const ReportOptions& options) {
    if (!options.audit.empty()) return run_audit_command({options.audit, options.output.json, options.output.quiet});
    const std::string path = journal_path(options.run_folder);
    if (!std::filesystem::exists(path)) {
        return report_error(
            bad_input("there is no journal at " + path + "; run diopi test first, or name its folder with --run"));
    }
    if (Status s = check_report_output(options.output); !s.ok()) return report_error(s.error());
    auto journal = read_journal(path);
    if (!journal.ok()) return report_error(journal.error());
    return print_report(std::move(*journal), options.output);
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "what the last run found; writes error_report.csv");
    command->add_option("--run", options->run_folder, "folder of the run's journal")->capture_default_str();
    add_report_output_options(*command, options->output);
    command->add_option("--audit", options->audit, "what a vendor's library has and lacks (docs/plugins.md)")
        ->type_name("PATH")
        ->excludes(command->get_option("--run"));
    command->footer(
        "Examples:\n"
        "  diopi report\n"
        "  diopi report --run nightly --junit report.xml\n"
        "  diopi report --audit ./libdiopi_impl.so\n"
        "  diopi report merge nightly/shard_* --into nightly/whole\n");
    const CLI::App* merge = add_report_merge_command(*command, code);
    command->callback([options, merge, &code] {
        if (!merge->parsed()) code = run_report(*options);
    });
}

}  // namespace diopi
