/// The conformance run: cases through worker processes into the journal.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/case_run.hpp"
#include "run/worker_pool.hpp"

namespace diopi {

struct ConformanceOptions {
    CaseOptions cases;
    PoolOptions pool;
    /// Cases that use one of these dtypes are skipped.
    std::vector<Dtype> filtered;
    /// Cases that are skipped: id and reason.
    std::map<std::string, std::string> skipped;
    /// Folder of stored baselines; a case without one is computed on the spot.
    std::string data;
    /// Folder of the journal.
    std::string run_folder;
    /// Goes on with the journal that is there: cases that have a result are not run again.
    bool resume = false;
    /// argv, for the journal.
    std::vector<std::string> command;
    /// What must follow `diopi test --case ID` to repeat a case of this run, for the journal.
    std::string repeat;
};

/// What a conformance run found. Results of an interrupted run are those that were finished.
struct ConformanceRun {
    std::vector<CaseResult> results;
    double seconds = 0;
    bool interrupted = false;
};

/// Runs the cases; `on_result` sees each result as it comes (those of a resumed journal too), with the number of cases
/// that are done and the number of all.
[[nodiscard]] Result<ConformanceRun> run_conformance(
    const std::vector<Case>& cases, const ConformanceOptions& options,
    const std::function<void(const CaseResult&, int64_t done, int64_t total)>& on_result);

}  // namespace diopi
