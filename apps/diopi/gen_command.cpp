/// diopi gen: baselines, and the lists of what can be generated.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "commands.hpp"
#include "conformance/generate.hpp"
#include "options.hpp"
#include "report/console.hpp"
#include "report/gen_report.hpp"
#include "report/terminal.hpp"
#include "worker/memory_limit.hpp"

namespace diopi {

namespace {

struct GenOptions {
    CommonOptions common;
    bool list_models = false;
    bool list_ops = false;
    bool dry_run = false;
    bool force = false;
    bool self_contained = false;
    bool yes = false;
};

int list(const std::vector<std::string>& names, bool json) {
    fmt::print("{}\n", json ? names_json(names) : fmt::format("{}", fmt::join(names, "\n")));
    return static_cast<int>(Exit::kPassed);
}

int dry_run(const GenOptions& options) {
    const CommonOptions& common = options.common;
    CaseSelection selection;
    auto choice = choice_of(common);
    if (!choice.ok()) return report_error(choice.error());
    const bool whole = common.model.empty() && choice->ops.empty() && common.case_files.empty();
    selection.ops = common.model.empty() && (whole || !choice->ops.empty());
    selection.all_models = whole || common.model == "all";
    if (!common.model.empty() && common.model != "all") selection.models = {common.model};
    selection.files = common.case_files;
    auto catalogue = Catalogue::load(cases_folder(common), selection);
    if (!catalogue.ok()) return report_error(catalogue.error());
    auto cases = select_cases(*choice, *catalogue);
    if (!cases.ok()) return report_error(cases.error());
    const CaseTotals totals = count_cases(*catalogue, choice->ops, [](const std::string& op) {
        return std::ranges::any_of(backends(), [&](const Backend* b) { return b->implements(op); });
    });
    int64_t bytes = 0;
    for (const Case& c : *cases) bytes += estimate_bytes(c);
    if (common.json)
        fmt::print("{}\n", totals_json(totals, bytes));
    else
        fmt::print("{}", totals_report(totals, bytes, screen_of(stdout)));
    return static_cast<int>(Exit::kPassed);
}

/// Prints the line of a finished file.
void print_file(const GeneratedFile& file, const CommonOptions& options, Console& console) {
    if (options.json) return;
    const std::string line = generated_line(file);
    if (!file.error.empty()) {
        console.finish();
        fmt::print(stderr, "diopi: {}\n", line);
    } else if (!options.quiet && !line.empty()) {
        console.print(line);
        std::fflush(stdout);
    }
}

/// Says how much will be written where that is much, and asks on a terminal. True: go on.
bool may_write(const GenOptions& options, const std::vector<Case>& cases) {
    constexpr int64_t kMuch = int64_t{4} << 30;
    int64_t bytes = 0;
    for (const Case& c : cases) bytes += reference_backend().implements(c.op) ? estimate_bytes(c) : 0;
    if (bytes < kMuch || options.yes) return true;
    fmt::print(stderr, "diopi: {} cases take up to {} in {}\n", cases.size(), memory_text(bytes), options.common.data);
    if (isatty(STDIN_FILENO) == 0 || !is_terminal(stderr)) return true;
    fmt::print(stderr, "Go on? [y/N] ");
    const int answer = std::getchar();
    return answer == 'y' || answer == 'Y';
}

int make_baselines(const GenOptions& options, const DtypeChoice& dtypes) {
    auto choice = choice_of(options.common);
    if (!choice.ok()) return report_error(choice.error());
    choice->generated = CaseChoice::Generated::kNone;
    auto cases = choose_cases(*choice, reference_backend());
    if (!cases.ok()) return report_error(cases.error());
    std::erase_if(*cases, [&](const Case& c) { return dtypes.skip_reason(c).has_value(); });
    if (!may_write(options, *cases)) {
        return report_error(bad_input("nothing was written; name fewer cases, or give --yes"));
    }
    GenerateOptions generation{options.common.data,
                               options.common.seed,
                               options.force,
                               options.self_contained,
                               {.jobs = worker_count(options.common), .timeout_s = 24 * 3600.0, .memory_limit = 0}};
    install_interrupt_handler();
    auto console = std::make_unique<Console>(
        Console::Options{stdout, LogLevel::kInfo, !options.common.json && !options.common.quiet});
    console->start(static_cast<int64_t>(cases->size()));
    generation.progress = [&](int64_t computed) { console->advance(computed, 0); };
    auto files =
        generate(*cases, generation, [&](const GeneratedFile& file) { print_file(file, options.common, *console); });
    console.reset();
    if (!files.ok()) return report_error(files.error());
    if (options.common.json)
        fmt::print("{}\n", generated_json(*files));
    else
        fmt::print("{}", generated_summary(*files, options.common.data + "/baselines", options.common.seed));
    if (interrupted()) {
        fmt::print(stderr, "diopi: interrupted; finished files are kept, the same command continues\n");
        return static_cast<int>(Exit::kInterrupted);
    }
    const bool is_whole = std::ranges::all_of(*files, [](const GeneratedFile& file) { return file.error.empty(); });
    return static_cast<int>(!is_whole ? Exit::kBadInput : Exit::kPassed);
}

int run_gen(const GenOptions& options) {
    if (auto backend = Implementation::find(options.common.impl, options.common.loading); !backend.ok())
        return report_error(backend.error());
    auto dtypes = dtypes_of(options.common);
    if (!dtypes.ok()) return report_error(dtypes.error());
    if (options.list_models) {
        const std::string folder = cases_folder(options.common);
        if (Status s = check_cases_folder(folder); !s.ok()) return report_error(s.error());
        return list(list_models(folder), options.common.json);
    }
    if (options.list_ops) {
        auto choice = choice_of(options.common);
        if (!choice.ok()) return report_error(choice.error());
        auto catalogue = load_catalogue(*choice);
        if (!catalogue.ok()) return report_error(catalogue.error());
        return list(catalogue->list_ops(), options.common.json);
    }
    return options.dry_run ? dry_run(options) : make_baselines(options, *dtypes);
}

}  // namespace

void add_gen_command(CLI::App& app, int& code) {
    auto options = std::make_shared<GenOptions>();
    CLI::App* command = app.add_subcommand("gen", "compute baselines with the float64 reference");
    add_common_options(*command, options->common);
    command->add_flag("--list-models", options->list_models, "list the models that have cases");
    command->add_flag("--list-ops", options->list_ops, "list the operators that have cases");
    command->add_flag("--dry-run", options->dry_run, "count cases and bytes, write nothing");
    command->add_flag("--force", options->force, "make files again that exist and are unchanged");
    command->add_flag("--yes", options->yes, "do not ask before more than 4 GiB are written");
    command->add_flag("--self-contained", options->self_contained, "store the inputs, too");
    command->footer(
        "Examples:\n"
        "  diopi gen --fname add          baselines of one operator\n"
        "  diopi gen --dry-run --json     every case counted\n"
        "  diopi gen --model resnet50 --self-contained --data /tmp/baselines\n");
    command->callback([options, &code] { code = run_gen(*options); });
}

}  // namespace diopi
