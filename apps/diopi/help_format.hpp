/// The text of --help: groups in one order for every subcommand, lines that break between words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// Gives the program and its subcommands this form of help. Called when all options are there.
void set_help_format(CLI::App& app);

/// An option in the help: "-j,--jobs INT" and its description with the default.
struct HelpRow {
    std::string title, text;
    int group = 0;
};
/// The options of a command in the order of the help.
[[nodiscard]] std::vector<HelpRow> help_rows(const CLI::App& command);

/// "diopi test [OPERATOR ...] [OPTIONS]", the groups, the examples.
[[nodiscard]] std::string help_of(const CLI::App& command);

}  // namespace diopi
