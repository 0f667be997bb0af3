/// The subcommands, one file each. `code` receives the exit code when the subcommand runs. The records of a run state
/// its command line.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// argv.
using CommandLine = std::vector<std::string>;

void add_gen_command(CLI::App& app, int& code);
void add_test_command(CLI::App& app, int& code, const CommandLine& line);
void add_compare_command(CLI::App& app, int& code, const CommandLine& line);
void add_profile_command(CLI::App& app, int& code, const CommandLine& line);
void add_fallback_sim_command(CLI::App& app, int& code, const CommandLine& line);
void add_report_command(CLI::App& app, int& code);
void add_list_command(CLI::App& app, int& code);
/// help, version and completion, which are about the program itself. Called last.
void add_about_commands(CLI::App& app, int& code);
/// The lines of diopi version: the program, its compiler and sources, its libraries, the processor's vectors.
[[nodiscard]] std::string version_text();

}  // namespace diopi
