/// diopi report matrix: what a library supports, as a run has shown, and how much of the standard that is.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "options.hpp"
#include "report/standard_coverage.hpp"
#include "report/support_matrix.hpp"
#include "report_output.hpp"
#include "target/implementation.hpp"

namespace diopi {

namespace {

struct MatrixOptions {
    CommonOptions common;  ///< the run, the operators, and the library of --coverage
    std::string format = "table";
    bool coverage = false;
};

constexpr std::array kFormats = {std::pair{"table", MatrixFormat::kTable},
                                 std::pair{"markdown", MatrixFormat::kMarkdown}, std::pair{"csv", MatrixFormat::kCsv}};

std::vector<std::string> names_of_formats() {
    std::vector<std::string> names;
    for (const auto& [format, value] : kFormats) names.emplace_back(format);
    return names;
}

MatrixFormat format_of(const MatrixOptions& options) {
    if (options.common.json) return MatrixFormat::kJson;
    const auto* format = std::ranges::find_if(kFormats, [&](const auto& each) { return options.format == each.first; });
    return format->second;
}

/// The value of --impl in the command of the run, cpu without one.
std::string library_of(const RunHeader& run) {
    constexpr std::string_view kOption = "--impl";
    for (size_t i = 0; i < run.command.size(); ++i) {
        const std::string& word = run.command[i];
        if (word == kOption && i + 1 < run.command.size()) return run.command[i + 1];
        if (word.starts_with("--impl=")) return word.substr(kOption.size() + 1);
    }
    return CommonOptions().impl;
}

int show_coverage(const MatrixOptions& options, const Journal& journal) {
    const std::string library = options.common.impl.empty() ? library_of(journal.header) : options.common.impl;
    auto impl = Implementation::find(library, options.common.loading);
    if (!impl.ok()) return report_error(impl.error());
    const StandardCoverage coverage = standard_coverage(journal, **impl);
    if (!coverage.has_symbols) {
        return report_error(
            bad_input("the journal does not say which functions were called: an older diopi wrote it; run diopi test "
                      "again"));
    }
    if (options.common.json) {
        fmt::print("{}", standard_coverage_json(coverage));
    } else {
        fmt::print("{}", standard_coverage_text(coverage, screen_of(stdout)));
    }
    return static_cast<int>(Exit::kPassed);
}

int show_matrix(const MatrixOptions& options) {
    auto journal = journal_of(options.common);
    if (!journal.ok()) return report_error(journal.error());
    if (options.coverage) return show_coverage(options, *journal);
    fmt::print("{}", matrix_text(support_of(*journal), format_of(options), screen_of(stdout)));
    return static_cast<int>(Exit::kPassed);
}

}  // namespace

CLI::App* add_report_matrix_command(CLI::App& report, int& code) {
    auto options = std::make_shared<MatrixOptions>();
    options->common.impl.clear();
    CLI::App* command = report.add_subcommand("matrix", "what the tested library supports, by operator and dtype");
    add_operator_options(*command, options->common);
    command
        ->add_option("--run", options->common.run_folder, "folder of the run, its journal, or the folder of its shards")
        ->capture_default_str();
    command->add_option("--format", options->format, "table, markdown or csv")
        ->check(CLI::IsMember(names_of_formats()))
        ->capture_default_str();
    command->add_flag("--json", options->common.json, "print JSON on stdout, nothing else")
        ->excludes(command->get_option("--format"));
    CLI::Option* coverage = command->add_flag(
        "--coverage", options->coverage, "what of the standard the library has, and what no case of the run reaches");
    coverage->excludes(command->get_option("--format"));
    command->add_option("--impl", options->common.impl, "the library of --coverage (default that of the run)")
        ->needs(coverage);
    add_library_options(*command, options->common.loading);
    command->footer(
        "Examples:\n"
        "  diopi report matrix 'conv*'\n"
        "  diopi report matrix --format markdown > SUPPORT.md\n"
        "  diopi report matrix --coverage\n");
    command->callback([options, &code] { code = show_matrix(*options); });
    return command;
}

}  // namespace diopi
