/// diopi test --suite runtime.
#pragma once

#include <string>

#include "options.hpp"

namespace diopi {

struct RuntimeSuiteCommand {
    CommonOptions common;
    std::string csv, junit;
    double timeout_s = kCaseTimeout_s;
    bool resume = false;
};

/// Runs the checks of the runtime, or the one that --case names; returns the exit code.
int run_runtime_suite_command(const RuntimeSuiteCommand& options);

}  // namespace diopi
