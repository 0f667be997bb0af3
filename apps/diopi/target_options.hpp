/// The options that describe the target of --impl.
#pragma once

#include <string>

#include "target/target.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace diopi {

/// Adds --impl-runtime and --impl-timeout.
void add_library_options(CLI::App& command, LibraryOptions& options);
/// The options that open libraries in the same way, for a command line.
[[nodiscard]] std::string repeat_library_options(const LibraryOptions& options);

/// Adds the options that describe the simulated device, and the conversions for any device.
void add_target_options(CLI::App& command, TargetOptions& options);
/// The options that select the same target, for a command line.
[[nodiscard]] std::string repeat_target_options(const TargetOptions& options);

/// The settings in environment variables.
[[nodiscard]] MemoryCheckOptions memory_check_options();

/// Prints the sum of an adaptor's conversions in one line on stderr, if stdout has another form than tables.
void print_adapted(const AdaptedFunctions& functions);

}  // namespace diopi
