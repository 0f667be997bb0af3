/// diopi report: the results of the last run, from its journal.
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "core/suggest.hpp"
#include "options.hpp"
#include "report/audit_report.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct ReportOptions {
    CommonOptions common;  ///< --run and the operators
    ReportOutput output;
    std::string audit;  ///< --audit
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

int show_report(const ReportOptions& options) {
    if (!options.audit.empty()) return run_audit(options);
    const std::string path = journal_path(options.common.run_folder);
    if (!std::filesystem::exists(path)) {
        return report_error(
            bad_input("there is no journal at " + path + "; run diopi test first, or name its folder with --run"));
    }
    if (Status s = check_report_output(options.output); !s.ok()) return report_error(s.error());
    auto journal = read_journal(path);
    if (!journal.ok()) return report_error(journal.error());
    if (Status s = keep_operators(options.common, *journal); !s.ok()) return report_error(s.error());
    for (const std::string& note : journal->notes) fmt::print(stderr, "diopi: {}\n", note);
    return print_report(std::move(*journal), options.output);
}

}  // namespace

void add_report_command(CLI::App& app, int& code) {
    auto options = std::make_shared<ReportOptions>();
    CLI::App* command = app.add_subcommand("report", "report the last run; writes error_report.csv");
    add_operator_options(*command, options->common);
    command->add_option("--run", options->common.run_folder, "folder of the run's journal")->capture_default_str();
    add_report_output_options(*command, options->output);
    command->add_option("--audit", options->audit, "list what a vendor's library has and lacks (docs/plugins.md)")
        ->type_name("PATH")
        ->excludes(command->get_option("--run"));
    command->footer(
        "Examples:\n"
        "  diopi report\n"
        "  diopi report add 'conv*'\n"
        "  diopi report --run nightly --junit report.xml\n"
        "  diopi report --audit ./libdiopi_impl.so\n"
        "  diopi report merge nightly/shard_* --into nightly/whole\n");
    const CLI::App* merge = add_report_merge_command(*command, code);
    command->callback([options, merge, &code] {
        if (!merge->parsed()) code = show_report(*options);
    });
}

}  // namespace diopi
