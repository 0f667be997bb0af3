/// The conformance run: cases through worker processes into the journal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "conformance/case_worker.hpp"
#include "conformance/run_order.hpp"
#include "conformance/save_failures.hpp"
#include "conformance/shard.hpp"
#include "step/case_run.hpp"
#include "worker/worker_pool.hpp"

namespace diopi {

struct ConformanceOptions {
    CaseOptions cases;
    PoolOptions pool;
    /// Why a case is skipped without running; nullopt when it is not.
    SkipReason skip_reason;
    /// Folder of stored baselines; a case without one is computed on the spot.
    std::string data;
    /// Folder of the journal.
    std::string run_folder;
    RunOrder order;
    /// Called in the worker process behind each case; what it returns becomes the result's notes.
    std::function<std::string(const Case&)> after_case;
    /// Bundles of what fails.
    SaveFailures save;
    /// Told in this process what cannot be saved.
    std::function<void(const std::string&)> on_warning;
    /// Goes on with the journal that is there: cases that have a result are not run again.
    bool resume = false;
    /// argv, for the journal.
    std::vector<std::string> command;
    /// What must follow `diopi test --case ID` to repeat a case of this run, for the journal.
    std::string repeat;
    /// "2/4" when the cases are a shard, for the journal; empty for a whole run.
    std::string shard;
    /// The whole that the cases are, or that they are a shard of.
    Selection selection;
    /// Checksum of the device configuration, for the journal; empty: there is none.
    std::string device_config;
};

/// What a conformance run found. Results of an interrupted run are those that were finished.
struct ConformanceRun {
    std::vector<CaseResult> results;
    double seconds = 0;
    bool interrupted = false;
};

/// The pool of a run and what its workers are told, with the limit of their memory settled; nothing is noted or saved.
/// What runs cases of it again beside it takes them as they are.
struct RunWorkers {
    PoolOptions pool;
    CaseWorkerOptions worker;
};
[[nodiscard]] RunWorkers workers_of(const ConformanceOptions& options);

/// Runs the cases; `on_result` sees each result as it comes (those of a resumed journal too), with the number of cases
/// that are done and the number of all.
[[nodiscard]] Result<ConformanceRun> run_conformance(
    const std::vector<Case>& cases, const ConformanceOptions& options,
    const std::function<void(const CaseResult&, int64_t done, int64_t total)>& on_result);

}  // namespace diopi
