/// diopi test --shrink: behind a run, the smallest form of each failing case.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/conformance.hpp"
#include "options.hpp"
#include "shrink/shrink.hpp"

namespace diopi {

struct ShrinkCommand {
    const CommonOptions& common;
    const ConformanceOptions& conformance;
    const std::vector<Case>& cases;
    const std::vector<CaseResult>& results;
    double seconds;  ///< for one case
    /// ShrinkOptions::prepare.
    std::function<bool(Case&)> prepare;
    /// What must follow `diopi test` to run the smallest form from that file.
    std::function<std::string(const Shrunk&, const std::string& file)> repeat;
};

/// Shrinks the failing cases, of each operator the first five, writes <run>/shrunk/<id>.json and prints what they were
/// and are; on standard error when standard output is JSON's.
Status run_shrink_command(const ShrinkCommand& command);

}  // namespace diopi
