/// The conformance run: cases through worker processes into the journal.
#pragma once

#include <functional>
#include <map>
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
    /// The reason why a case is skipped without running; nullopt for none.
    SkipReason skip_reason;
    /// Folder of stored baselines; a case without one is computed during the run.
    std::string data;
    /// Folder of the journal.
    std::string run_folder;
    RunOrder order;
    /// No case starts after this time; 0: no end.
    double budget_s = 0;
    /// No case starts after this number of failures; 0: no end.
    int64_t max_failures = 0;
    /// The journal exists and gets more results.
    bool append = false;
    /// The hash that the results of each case must have, by case id; null: they may have any.
    const std::map<std::string, uint64_t>* hashes = nullptr;
    /// Called in the worker process after each case; its text becomes the result's notes.
    std::function<std::string(const Case&)> after_case;
    /// Bundles of failures.
    SaveFailures save;
    /// Called in this process for bundles that cannot be saved.
    std::function<void(const std::string&)> on_warning;
    /// Continues the existing journal: cases that have a result are not run again.
    bool resume = false;
    /// The command line, for the journal.
    std::vector<std::string> command;
    std::string environment;  ///< machine_text()
    /// The options after `diopi test --case ID` that repeat a case of this run, for the journal.
    std::string repeat;
    /// "2/4" when the cases are a shard, for the journal; empty for a whole run.
    std::string shard;
    /// The whole selection: these cases, or the cases that they are a shard of.
    Selection selection;
    /// Checksum of the device configuration, for the journal; empty: there is none.
    std::string device_config;
};

/// The results of a conformance run; of an interrupted one, those of the finished cases.
struct ConformanceRun {
    std::vector<CaseResult> results;
    double seconds = 0;
    bool interrupted = false;
};

/// The pool of a run and the options of its workers; nothing is noted or saved. Other commands that repeat its cases
/// use them unchanged.
struct RunWorkers {
    PoolOptions pool;
    CaseWorkerOptions worker;
};
[[nodiscard]] RunWorkers workers_of(const ConformanceOptions& options);

/// Whether the stored baselines of the cases can be used. A run checks them itself.
[[nodiscard]] Status check_baselines(const std::vector<Case>& cases, const ConformanceOptions& options);

/// Runs the cases; `on_result` gets each result in turn (also those of a resumed journal), with the numbers of finished
/// and of all cases.
[[nodiscard]] Result<ConformanceRun> run_conformance(
    const std::vector<Case>& cases, const ConformanceOptions& options,
    const std::function<void(const CaseResult&, int64_t done, int64_t total)>& on_result);

}  // namespace diopi
