/// diopi test --shrink: finds the smallest form of each failing case after a run.
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
    double seconds;  ///< time limit for one case
    /// See ShrinkOptions::prepare.
    std::function<bool(Case&)> prepare;
    /// The options after `diopi test` that run the smallest form from that file.
    std::function<std::string(const Shrunk&, const std::string& file)> repeat;
};

/// Shrinks the first five failing cases of each operator, writes <run>/shrunk/<id>.json, and prints each before
/// and after; on standard error when standard output has JSON.
Status run_shrink_command(const ShrinkCommand& command);

}  // namespace diopi
