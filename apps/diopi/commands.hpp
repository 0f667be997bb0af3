/// The subcommands, one file each. `code` receives the exit code when the subcommand runs.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

void add_gen_command(CLI::App& app, int& code);
void add_test_command(CLI::App& app, int& code, int argc, char** argv);
void add_compare_command(CLI::App& app, int& code);
void add_profile_command(CLI::App& app, int& code);
void add_fallback_sim_command(CLI::App& app, int& code);
void add_report_command(CLI::App& app, int& code);

}  // namespace diopi
