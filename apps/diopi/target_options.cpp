#include "target_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "environment.hpp"
#include "report/adaptor_table.hpp"
#include "report/error_report.hpp"
#include "validators.hpp"

namespace diopi {

void add_library_options(CLI::App& command, LibraryOptions& options) {
    options.on_note = [](const std::string& note) { fmt::print(stderr, "diopi: {}\n", note); };
    command.add_option("--impl-runtime", options.runtime, "library of its device functions, or cpu for host memory");
    command.add_option("--impl-timeout", options.timeout_s, "seconds that a library may take to start")
        ->check(seconds_above_zero())
        ->capture_default_str();
}

std::string repeat_library_options(const LibraryOptions& options) {
    std::string text = options.runtime.empty() ? "" : "--impl-runtime " + shell_quoted(options.runtime);
    if (options.timeout_s == LibraryOptions().timeout_s) return text;
    return text + fmt::format("{}--impl-timeout {:g}", text.empty() ? "" : " ", options.timeout_s);
}

void add_target_options(CLI::App& command, TargetOptions& options) {
    command.add_option("--sim-config", options.sim_config, "JSON file that describes the device of --impl sim");
    command.add_flag("--wait", options.waits, "--impl sim waits for the predicted times");
    command
        .add_option("--adaptor", options.adaptor,
                    "convert tensors for the device: a JSON file or a preset (docs/adaptor.md)")
        ->type_name("FILE");
}

std::string repeat_target_options(const TargetOptions& options) {
    std::string text;
    const auto append = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
    if (!options.sim_config.empty()) append("--sim-config " + shell_quoted(options.sim_config));
    if (options.waits) append("--wait");
    if (!options.adaptor.empty()) append("--adaptor " + shell_quoted(options.adaptor));
    return text;
}

MemoryCheckOptions memory_check_options() {
    const Environment environment = read_environment();
    return {environment.memory_check, environment.memory_check_backtrace};
}

void print_adapted(const AdaptedFunctions& functions) {
    if (!functions.empty()) fmt::print(stderr, "diopi: adaptor: {}\n", adaptor_line(functions));
}

}  // namespace diopi
