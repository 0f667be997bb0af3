#include "help_format.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "report/terminal.hpp"

namespace diopi {

namespace {

/// A group of options in the order of the help; an option belongs to the first group that names it. Those that no group
/// names follow in the last one.
struct HelpGroup {
    const char* title;
    std::vector<std::string_view> options;
};

const std::vector<HelpGroup>& groups() {
    static const std::vector<HelpGroup> all = {
        {"What is listed", {"what", "name"}},
        {"What is explained", {"command", "shell"}},
        {"What is merged", {"journals"}},
        {"Which calls",
         {"operator",   "fname",       "model",   "capture", "with",  "case",         "k",     "filter-dtype",
          "only-dtype", "implemented", "missing", "level",   "steps", "only-forward", "shape", "dtype",
          "param",      "in-order",    "replay",  "suite",   "ops",   "except",       "cases", "cases-dir"}},
        {"Which library",
         {"impl", "against", "against-dtype", "to", "adaptor", "device-config", "sim-config", "wait", "impl-runtime",
          "impl-timeout"}},
        {"What is checked", {"checks", "accuracy", "tolerance", "require-all", "ulp", "overflow", "dump", "acc-check"}},
        {"How it runs",
         {"jobs",         "seed",         "exitfirst",   "maxfail", "budget",       "time",  "timeout",
          "memory-limit", "collect-only", "last-failed", "resume",  "shard",        "force", "self-contained",
          "yes",          "run-times",    "bisect",      "repeats", "call-replays", "run",   "data"}},
        {"How it is measured",
         {"max-time", "passes", "mode", "schedule", "profile-memory", "no-roofs", "roofs", "baseline"}},
        {"What is printed and written", {"quiet",       "verbose",
                                         "json",        "format",
                                         "durations",   "sort-by",
                                         "group-by",    "group-by-input-shape",
                                         "row-limit",   "csv",
                                         "junit",       "trace",
                                         "html",        "gui",
                                         "bundle",      "gui-tab",
                                         "gui-theme",   "gui-screenshot",
                                         "audit",       "into",
                                         "partial",     "save-failures",
                                         "list-models", "list-ops",
                                         "dry-run",     "debug-level",
                                         "help",        "version"}},
        {"Variants of the cases",
         {"fill", "captured", "empty", "zero-dim", "four-bytes", "strided", "wide", "host-strides", "unaligned", "nhwc",
          "nhwc-min-dim"}},
        {"Failure analysis", {"shrink", "shrink-time", "shuffle", "addresses", "find-order"}},
        {"Recording", {"record", "record-values"}},
        {"Others", {}},
    };
    return all;
}

constexpr int kNameColumns = 28;

/// A pipe has no width; 80 columns fit everywhere.
int width_of_help() {
    const int width = terminal_width(stdout);
    return is_terminal(stdout) ? std::clamp(width, 60, 100) : 80;
}

/// The first long name, else the short one, else that of a positional.
std::string key_of(const CLI::Option& option) {
    if (!option.get_lnames().empty()) return option.get_lnames().front();
    return option.get_snames().empty() ? option.get_name(true) : option.get_snames().front();
}

size_t group_of(const CLI::Option& option) {
    const std::string key = key_of(option);
    const auto found = std::ranges::find_if(
        groups(), [&](const HelpGroup& group) { return std::ranges::find(group.options, key) != group.options.end(); });
    return std::min(static_cast<size_t>(found - groups().begin()), groups().size() - 1);
}

size_t place_of(const CLI::Option& option) {
    const auto& names = groups()[group_of(option)].options;
    return static_cast<size_t>(std::ranges::find(names, key_of(option)) - names.begin());
}

/// "FILE", "{hot,cold}": CLI11 joins the type and what its checks accept with a colon.
std::string type_of(const CLI::Option& option) {
    const std::string text = option.get_type_size() == 0 ? "" : option.get_type_name();
    const size_t colon = text.find(':');
    if (colon == std::string::npos) return text;
    return text[colon + 1] == '{' ? text.substr(colon + 1) : text.substr(0, colon);
}

std::string title_of(const CLI::Option& option) {
    if (!option.nonpositional()) return option.get_name(true) + " ...";
    std::string names;
    for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ",-") + name;
    for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ",--") + name;
    const std::string type = type_of(option);
    return type.empty() ? names : names + " " + type;
}

/// The text in lines of `width` columns, broken between words; all lines but the first begin with `indent` blanks.
std::string broken(std::string_view text, int width, int indent) {
    std::string lines;
    int column = 0;
    while (!text.empty()) {
        const size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const int columns = display_width(word);
        if (column > 0 && column + 1 + columns > width) {
            lines += "\n" + std::string(static_cast<size_t>(indent), ' ');
            column = 0;
        }
        lines += (column > 0 ? " " : "") + std::string(word);
        column += columns + (column > 0 ? 1 : 0);
    }
    return lines;
}

/// A title in lines of `width` columns, broken between its choices: further lines begin below the first choice.
std::string broken_title(std::string_view title, int width) {
    const size_t indent = title.find('{') + 1;
    std::string lines;
    size_t column = 0;
    while (!title.empty()) {
        const size_t end = std::min(title.find(','), title.size() - 1) + 1;
        const std::string_view piece = title.substr(0, end);
        title.remove_prefix(end);
        if (column + piece.size() > static_cast<size_t>(width)) {
            lines += "\n" + std::string(indent + 2, ' ');
            column = indent;
        }
        lines += piece;
        column += piece.size();
    }
    return lines;
}

std::string row(const std::string& title, std::string text, int width) {
    const bool fits = display_width(title) <= kNameColumns - 4;
    const std::string blanks(static_cast<size_t>(kNameColumns), ' ');
    std::string line = "  " + broken_title(title, width - 2);
    line += fits ? std::string(static_cast<size_t>(kNameColumns - 2 - display_width(title)), ' ') : "\n" + blanks;
    return line + broken(text, width - kNameColumns, kNameColumns) + "\n";
}

std::string text_of(const CLI::Option& option) {
    const std::string text = option.get_description();
    const std::string preset = option.get_default_str();
    const bool has_preset = option.get_type_size() != 0 && !preset.empty() && text.find("default") == std::string::npos;
    return has_preset ? fmt::format("{} (default {})", text, preset) : text;
}

std::string usage_of(const CLI::App& command) {
    std::string names = command.get_name();
    for (const CLI::App* app = command.get_parent(); app != nullptr; app = app->get_parent()) {
        names = app->get_name() + " " + names;
    }
    for (const CLI::Option* option : command.get_options()) {
        if (option->nonpositional()) continue;
        std::string word = option->get_name(true);
        std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        names += option->get_required() ? " " + word + " ..." : " [" + word + " ...]";
    }
    return "Usage: " + names + " [OPTIONS]" + (command.get_subcommands({}).empty() ? "" : " COMMAND") + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
    std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override { return help_of(*app); }
};

}  // namespace

std::vector<HelpRow> help_rows(const CLI::App& command) {
    std::vector<const CLI::Option*> options = command.get_options();
    std::ranges::stable_sort(options, {}, [](const CLI::Option* o) { return std::pair(group_of(*o), place_of(*o)); });
    std::vector<HelpRow> rows;
    for (const CLI::Option* option : options) {
        rows.push_back({title_of(*option), text_of(*option), static_cast<int>(group_of(*option))});
    }
    return rows;
}

std::string help_of(const CLI::App& command) {
    const int width = width_of_help();
    std::string text = broken(command.get_description(), width, 0) + "\n\n" + usage_of(command);
    int last = -1;
    for (const HelpRow& each : help_rows(command)) {
        if (each.group != last) text += fmt::format("\n{}:\n", groups()[static_cast<size_t>(each.group)].title);
        last = each.group;
        text += row(each.title, each.text, width);
    }
    const auto commands = command.get_subcommands({});
    if (!commands.empty()) text += "\nCommands:\n";
    for (const CLI::App* each : commands) text += row(each->get_name(), each->get_description(), width);
    return command.get_footer().empty() ? text : text + "\n" + command.get_footer() + "\n";
}

void set_help_format(CLI::App& app) {
    const auto formatter = std::make_shared<HelpFormatter>();
    app.formatter(formatter);
    for (CLI::App* command : app.get_subcommands({})) set_help_format(*command);
}

}  // namespace diopi
