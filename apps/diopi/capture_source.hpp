/// The capture that a subcommand runs: --capture FILE, or --model NAME with the captures that come with the program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.hpp"
#include "replay/capture_replay.hpp"

namespace CLI {
class Option;
}

namespace diopi {

/// A capture with its kept values, and the replay of it. The parts refer to each other.
struct LoadedCapture {
    std::string path;
    Capture capture;
    CaptureValues values;
    std::optional<CaptureReplay> replay;
};

/// The names of the captures that come with the program, sorted, and the path of one.
[[nodiscard]] std::vector<std::string> shipped_captures(const CommonOptions& options);
[[nodiscard]] std::string shipped_capture_path(const std::string& name, const CommonOptions& options);

/// Adds --capture.
CLI::Option* add_capture_option(CLI::App& command, std::string& file);

/// Whether --model names a capture that comes with the program.
[[nodiscard]] bool has_capture(const CommonOptions& options);

/// Reads the files and draws values that were not kept. `file` is --capture, a file or the name of a capture that comes
/// with the program; if it is empty, --model names one. With `only_forward` the calls end before the first one that is
/// not of the forward pass.
[[nodiscard]] Result<std::unique_ptr<LoadedCapture>> load_capture(const std::string& file, const CommonOptions& options,
                                                                  bool only_forward = false);

}  // namespace diopi
