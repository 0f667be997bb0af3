/// diopi test --replay FILE: runs the step of a replay bundle again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "target_options.hpp"

namespace diopi {

struct ReplayCommand {
    CommonOptions common;
    TargetOptions target;
    std::string file;
    /// --checks, if it was given.
    std::optional<std::vector<std::string>> checks;
    double timeout_s = kCaseTimeout_s;
    std::string memory_limit;
    /// The first given option that cannot be used here; empty: none.
    std::string misplaced;
};

/// Returns the exit code of the program.
int run_replay_command(const ReplayCommand& options);

}  // namespace diopi
