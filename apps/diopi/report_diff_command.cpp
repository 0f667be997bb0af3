/// diopi report diff: what changed from one run to another.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "options.hpp"
#include "report/html_page.hpp"
#include "report/run_diff_report.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct DiffOptions {
    std::string before, after;
    std::string html;
    bool json = false, quiet = false;
};

int run_diff(const DiffOptions& options) {
    if (Status s = check_output_file(options.html); !s.ok()) return report_error(s.error());
    const auto before = journal_at(options.before);
    if (!before.ok()) return report_error(before.error());
    const auto after = journal_at(options.after);
    if (!after.ok()) return report_error(after.error());
    const RunDiff diff = diff_runs(*before, *after);
    if (!options.html.empty()) {
        HtmlPage page;
        page.add(*after, &diff);
        if (Status s = page.write(options.html); !s.ok()) return report_error(s.error());
    }
    if (options.json) {
        fmt::print("{}", run_diff_json(diff));
    } else {
        fmt::print("{}", run_diff_text(diff, options.quiet, screen_of(stdout)));
    }
    return static_cast<int>(diff.is_worse() ? Exit::kFailures : Exit::kPassed);
}

}  // namespace

CLI::App* add_report_diff_command(CLI::App& report, int& code) {
    auto options = std::make_shared<DiffOptions>();
    CLI::App* command = report.add_subcommand("diff", "what broke, was mended, lost or gained from run A to run B");
    command->add_option("A", options->before, "the older run: its folder, its journal, or the folder of its shards")
        ->required();
    command->add_option("B", options->after, "the newer run")->required();
    command->add_option("--html", options->html, "also write the page of run B, with what changed")->type_name("FILE");
    command->add_flag("--json", options->json, "print JSON on stdout, nothing else");
    command->add_flag("-q,--quiet", options->quiet, "print only the summary");
    command->footer("Example:\n  diopi report diff last_week/journal.jsonl nightly\n");
    command->callback([options, &code] { code = run_diff(*options); });
    return command;
}

}  // namespace diopi
