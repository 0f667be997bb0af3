/// diopi report merge: the shards of a run become one journal and one report.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "journal/merge.hpp"
#include "options.hpp"
#include "report_output.hpp"

namespace diopi {

namespace {

struct MergeOptions {
    std::vector<std::string> places;
    std::string into;
    bool partial = false;
    ReportOutput output;
};

Status check_target(const MergeOptions& options, const std::vector<NamedJournal>& shards) {
    const std::string target = journal_path(options.into);
    std::error_code ignored;
    for (const NamedJournal& shard : shards) {
        if (std::filesystem::equivalent(shard.path, target, ignored)) {
            return bad_input(shard.path + " would be replaced by the merged journal; name another folder with --into");
        }
    }
    return check_report_output(options.output);
}

int run_merge(const MergeOptions& options) {
    auto shards = read_journals(options.places, options.into);
    if (!shards.ok()) return report_error(shards.error());
    if (Status s = check_target(options, *shards); !s.ok()) return report_error(s.error());
    auto merge = merge_journals(std::move(*shards));
    if (!merge.ok()) return report_error(merge.error());
    for (const std::string& note : merge->notes) fmt::print(stderr, "diopi: {}\n", note);
    for (const std::string& gap : merge->gaps) fmt::print(stderr, "diopi: {}\n", gap);
    if (!merge->gaps.empty() && !options.partial) {
        fmt::print(stderr,
                   "diopi: error: the run is not complete, nothing was written; run the missing shards (diopi test "
                   "--shard K/N, with --resume for unfinished ones), or merge the others with --partial\n");
        return static_cast<int>(Exit::kFailures);
    }
    Journal& journal = merge->journal;
    auto written = JournalWriter::create(options.into, journal.header, journal.results);
    if (!written.ok()) return report_error(written.error());
    return print_report(std::move(journal), options.output);
}

}  // namespace

CLI::App* add_report_merge_command(CLI::App& report, int& code) {
    auto options = std::make_shared<MergeOptions>();
    CLI::App* command = report.add_subcommand("merge", "merge the shards of a run (docs/scale_out.md)");
    command->add_option("journals", options->places, "the shards' run folders, or a folder that holds them")
        ->required();
    command->add_option("--into", options->into, "folder of the merged run's journal")->required();
    command->add_flag("--partial", options->partial, "also when shards are missing or not finished");
    add_report_output_options(*command, options->output);
    command->footer("Example:\n  diopi report merge nightly/shard_* --into nightly/whole\n");
    command->callback([options, &code] { code = run_merge(*options); });
    return command;
}

}  // namespace diopi
